package mount

import (
	"context"
	"fmt"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"

	"github.com/pbs-like/pbs-like/pxar"
)

var _ fs.NodeOpener = (*entry)(nil)

// Open opens a file. The snapshot stays locked until it is closed.
func (n *entry) Open(ctx context.Context, _ uint32) (fs.FileHandle, uint32, syscall.Errno) {
	lease, err := n.fsys.leases.acquire(ctx, n.tree.entries.snapshot)
	if err != nil {
		return nil, 0, n.fsys.gone(n.path(), err)
	}
	h, err := n.openContent(ctx, lease)
	if err != nil {
		lease.release(0)
		return nil, 0, n.fsys.gone(n.path(), err)
	}
	return h, 0, 0
}

func (n *entry) openContent(ctx context.Context, lease *lease) (*fileHandle, error) {
	if err := lease.same(n.tree.entries); err != nil {
		return nil, err
	}
	content, err := n.tree.pxar.Content(n.e)
	if err != nil {
		return nil, err
	}
	outer, start, size := content.Outer()
	src, ok := outer.(*source)
	if !ok {
		return nil, fmt.Errorf("%w: no content", pxar.ErrNoPayload)
	}
	a, err := lease.archive(ctx, src.id)
	if err != nil {
		return nil, err
	}
	return n.fsys.handle(lease, a, n.path(), uint64(start), uint64(size)), nil
}
