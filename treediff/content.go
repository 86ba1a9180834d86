package treediff

import (
	"bytes"
	"context"
	"io"

	"github.com/pbs-like/pbs-like/datastore"
	"github.com/pbs-like/pbs-like/pxar"
)

// contents compares the contents of two files.
func (c *comparison) contents(change *Change, a, b *pxar.Entry) error {
	change.Content = NotCompared
	if a.Size != b.Size {
		change.Content = OtherContent
		change.Fields = append(change.Fields, Size, Content)
		return nil
	}
	like, err := c.old.tree.CompareContent(c.ctx, a, c.new.tree, b)
	if err == nil && like == datastore.LikenessUnknown && c.opts.Content {
		like, err = c.read(a, b)
	}
	if err != nil {
		return err
	}
	switch like {
	case datastore.Same:
		change.Content = SameContent
	case datastore.Different:
		change.Content = OtherContent
		change.Fields = append(change.Fields, Content)
	case datastore.LikenessUnknown:
	}
	return nil
}

func (c *comparison) read(a, b *pxar.Entry) (datastore.Likeness, error) {
	old, err := c.old.tree.Content(a)
	if err != nil {
		return datastore.LikenessUnknown, err
	}
	new, err := c.new.tree.Content(b)
	if err != nil {
		return datastore.LikenessUnknown, err
	}
	return CompareReaders(c.ctx, old, new, a.Size)
}

// CompareReaders compares the next size bytes of two readers, and reads until they differ: datastore.Same or datastore.Different. A
// reader that ends before is an error.
func CompareReaders(ctx context.Context, a, b io.Reader, size uint64) (datastore.Likeness, error) {
	const block = 256 << 10
	one, two := make([]byte, min(size, block)), make([]byte, min(size, block))
	for left := size; left > 0; left -= uint64(len(one)) {
		one, two = one[:min(left, block)], two[:min(left, block)]
		if ctx.Err() != nil {
			return datastore.LikenessUnknown, context.Cause(ctx)
		}
		if _, err := io.ReadFull(a, one); err != nil {
			return datastore.LikenessUnknown, err
		}
		if _, err := io.ReadFull(b, two); err != nil {
			return datastore.LikenessUnknown, err
		}
		if !bytes.Equal(one, two) {
			return datastore.Different, nil
		}
	}
	return datastore.Same, nil
}
