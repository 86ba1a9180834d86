package chunkstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/pbs-like/pbs-like/flock"
	"github.com/pbs-like/pbs-like/internal/fsop/fsoptest"
	"github.com/pbs-like/pbs-like/internal/helperproc"
)

func TestMain(m *testing.M) {
	helperproc.Main(m, map[string]helperproc.Role{
		"insert": roleInsert,
		"race":   roleRace,
		"load":   roleLoad,
		"lock":   roleLock,
	})
}

func openFor(dir string, spec string) (*Store, error) {
	root, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	opts := Options{}
	if spec != "" {
		script, err := fsoptest.Parse(spec, nil, nil)
		if err != nil {
			return nil, err
		}
		opts.Disk = script.Disk()
	}
	return Open(root, opts)
}

// roleInsert inserts the small form of a sample, with the script in its arguments.
func roleInsert(ctx context.Context, args []string, io *helperproc.IO) error {
	s, err := openFor(args[0], args[1])
	if err != nil {
		return err
	}
	c := newSample(sampleSeed, sampleSize)
	_, err = s.Insert(ctx, c.digest, c.small)
	return err
}

// roleRace inserts many samples in an order of its own.
func roleRace(ctx context.Context, args []string, io *helperproc.IO) error {
	s, err := openFor(args[0], "")
	if err != nil {
		return err
	}
	offset, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	io.Ready()
	if _, err := io.Next(); err != nil {
		return err
	}
	return insertAll(ctx, s, offset)
}

// roleLoad says how loading a sample fails.
func roleLoad(_ context.Context, args []string, io *helperproc.IO) error {
	s, err := openFor(args[0], "")
	if err != nil {
		return err
	}
	_, err = s.NewLoader().Load(newSample(sampleSeed, sampleSize).digest, AnySize)
	io.Say(fmt.Sprint(errors.Is(err, os.ErrPermission), errors.Is(err, ErrCorrupt), errors.Is(err, ErrMissing)))
	return nil
}

// roleLock holds the shared lock until it is told something.
func roleLock(ctx context.Context, args []string, io *helperproc.IO) error {
	s, err := openFor(args[0], "")
	if err != nil {
		return err
	}
	guard, err := s.LockShared(ctx, flock.Wait{})
	if err != nil {
		return err
	}
	defer guard.Close()
	io.Ready()
	_, err = io.Next()
	return err
}
