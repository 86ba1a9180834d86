package s3store

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/pbs-like/pbs-like/storelock"
)

// Options say how an object store is reached. The zero value is Amazon's, with the
// credentials that are usual there.
type Options struct {
	// Endpoint is the server, such as "https://minio.example.com:9000". Empty:
	// https://s3.amazonaws.com.
	Endpoint string

	// Region of the bucket. Empty: the server is asked.
	Region string

	// AccessKey and SecretKey. Empty: AWS_ACCESS_KEY_ID and its like in the
	// environment, then ~/.aws/credentials, then what the machine's role gives.
	AccessKey, SecretKey string

	// Transport makes the calls. nil: one of its own, so that locks never wait
	// for a connection behind data.
	Transport http.RoundTripper
}

// ErrAddress is wrapped by the error for an address that is not s3://BUCKET/PREFIX.
var ErrAddress = errors.New("not the address of a place in an object store")

// Store is a place in a bucket. It implements [storelock.Backend].
type Store struct {
	client *minio.Client
	bucket string
	prefix string // without slashes around it
}

// Open prepares for the place that an address s3://BUCKET/PREFIX names. Nothing is
// asked yet: whether the bucket is there, the first call tells.
func Open(address string, opts Options) (*Store, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("%q: %w", address, ErrAddress)
	}
	endpoint, secure, err := server(opts.Endpoint)
	if err != nil {
		return nil, err
	}
	transport := opts.Transport
	if transport == nil {
		if transport, err = minio.DefaultTransport(secure); err != nil {
			return nil, err
		}
	}
	client, err := minio.New(endpoint, &minio.Options{
		Creds: keys(opts), Secure: secure, Region: opts.Region, Transport: transport,
		// The lock tries again by itself. A retry in here would hide an answer
		// that was lost, and go on after the caller has given up.
		MaxRetries: 1,
	})
	if err != nil {
		return nil, fmt.Errorf("%q: %w", address, err)
	}
	return &Store{client: client, bucket: u.Host, prefix: strings.Trim(path.Clean("/"+u.Path), "/")}, nil
}

func server(endpoint string) (host string, secure bool, err error) {
	if endpoint == "" {
		return "s3.amazonaws.com", true, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", false, fmt.Errorf("endpoint %q: %w: want http:// or https:// and a host", endpoint, ErrAddress)
	}
	return u.Host, u.Scheme == "https", nil
}

func keys(opts Options) *credentials.Credentials {
	if opts.AccessKey != "" {
		return credentials.NewStaticV4(opts.AccessKey, opts.SecretKey, "")
	}
	return credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.EnvMinio{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
	})
}

// Resource is the place of one of many locks, named after what it is for: two
// resources never have the same one.
func (s *Store) Resource(name string) *Store {
	n := *s
	n.prefix = path.Join(s.prefix, storelock.ResourceDir(name))
	return &n
}

// String is the address.
func (s *Store) String() string { return "s3://" + path.Join(s.bucket, s.prefix) }
