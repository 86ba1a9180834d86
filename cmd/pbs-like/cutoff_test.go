package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

// cutoff STATEDIR GROUP verifies a group of the store until the time is up, which is
// after some looks at a clock that is no real one, and remembers what was proven.
func cmdCutOff(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: cutoff STATEDIR GROUP")
	}
	ds, err := datastore.Open(ts.Getenv("PBS_LIKE_DATASTORE"), datastore.Options{})
	ts.Check(err)
	group, err := backupinfo.ParseGroup(backupinfo.Namespace{}, args[1])
	ts.Check(err)
	var looks atomic.Int64
	start := time.Now().Add(-time.Minute)
	report, err := ds.Verify(context.Background(), datastore.VerifyOptions{
		Groups: []backupinfo.Group{group}, MaxDuration: 7 * time.Second, Memory: datastore.NewVerifyMemory(args[0]),
		Now: func() time.Time { return start.Add(time.Duration(looks.Add(1)) * time.Second) },
	})
	ts.Check(err)
	if report.Verdicts[datastore.VerdictPartly] != 1 {
		ts.Fatalf("it was not cut off: %+v", report)
	}
}
