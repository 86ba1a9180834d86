package storelock

import "context"

// Owner is who a lock is to belong to from now on.
type Owner struct {
	HostID string // as Options.HostID; empty: as before
	PID    int    // a process of this host; 0: the calling one
}

// Migrate gives the lock another owner, without a moment in which nobody has it:
// for a program that goes on in another process. Errors are those of Refresh;
// after one the lock belongs to the owner before, unless it is ErrLost.
func (g *Guard) Migrate(ctx context.Context, to Owner) error {
	return g.inTurn(ctx, func(ctx context.Context) error {
		next := g.s.self
		next.ThreadID = randomThread()
		if to.HostID != "" {
			next.HostID = hostID(to.HostID)
		}
		next.PID = int64(to.PID)
		if to.PID == 0 {
			next.PID = thisProcess().pid
		}
		next.Started = startOf(next.PID)
		return g.renew(ctx, next)
	})
}
