package s3store

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/pbs-like/pbs-like/storelock"
)

// key does not clean a name: others may have made objects with ".." or "//" in
// their keys, and cleaning would reach what is not below our prefix.
func (s *Store) key(name string) string { return strings.TrimPrefix(s.prefix+"/"+name, "/") }

// maxNames is how many objects are listed: more are no locks.
const maxNames = 100_000

// List returns the names of the objects of a prefix.
func (s *Store) List(ctx context.Context, prefix string) (keys []string, err error) {
	above := s.key(prefix) + "/"
	ctx, stop := context.WithCancel(ctx)
	defer stop() // ends the goroutine that lists, if it is left early
	for o := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: above, Recursive: true}) {
		if o.Err != nil {
			return nil, s.explain("list", prefix, o.Err)
		}
		// A key that ends in a slash is what some programs make for a directory.
		if key := strings.TrimPrefix(o.Key, above); key != "" && !strings.HasSuffix(key, "/") {
			keys = append(keys, key)
		}
		if len(keys) > maxNames {
			return nil, fmt.Errorf("%q has more than %d objects: that is no place of locks", s.String()+"/"+prefix, maxNames)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return keys, nil
}

// Load reads an object.
func (s *Store) Load(ctx context.Context, name string) ([]byte, error) {
	o, err := s.client.GetObject(ctx, s.bucket, s.key(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, s.explain("load", name, err)
	}
	defer func() { _ = o.Close() }() // only read from
	data, err := io.ReadAll(io.LimitReader(o, storelock.MaxObject+1))
	if err != nil {
		return nil, s.explain("load", name, err)
	}
	if len(data) > storelock.MaxObject {
		return nil, s.explain("load", name, storelock.ErrTooLarge)
	}
	return data, nil
}

// Store puts an object. Whatever error comes, it may be there.
func (s *Store) Store(ctx context.Context, name string, data []byte) error {
	_, err := s.client.PutObject(ctx, s.bucket, s.key(name), bytes.NewReader(data), int64(len(data)), minio.PutObjectOptions{
		ContentType: "application/json", DisableMultipart: true,
	})
	return s.explain("store", name, err)
}

// Delete removes an object. A server does not tell whether there was one, so it is
// asked before: who deletes beside us is told the same, which is harmless.
func (s *Store) Delete(ctx context.Context, name string) error {
	if _, err := s.client.StatObject(ctx, s.bucket, s.key(name), minio.StatObjectOptions{}); err != nil {
		return s.explain("delete", name, err)
	}
	return s.explain("delete", name, s.client.RemoveObject(ctx, s.bucket, s.key(name), minio.RemoveObjectOptions{}))
}

func (s *Store) explain(what, name string, err error) error {
	if err == nil {
		return nil
	}
	r := minio.ToErrorResponse(err)
	// A bucket that is missing is no empty one.
	if r.StatusCode == http.StatusNotFound && r.Code != "NoSuchBucket" {
		return fmt.Errorf("%s %q: %w", what, s.String()+"/"+name, storelock.ErrNotFound)
	}
	return fmt.Errorf("%s %q: %w", what, s.String()+"/"+name, err)
}
