package command

import (
	"context"
	"errors"
	"testing"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/datastore"
)

func snapshotsAt(t *testing.T, ns string, times ...string) (out []backupinfo.Snapshot) {
	t.Helper()
	namespace, err := backupinfo.ParseNamespace(ns)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range times {
		s, err := backupinfo.ParseSnapshot(namespace, "vm/7/"+at)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

func TestTheQuestionSaysWhatGoes(t *testing.T) {
	t.Parallel()
	const first, second, third = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"
	tests := []struct {
		ns   string
		plan datastore.RemovalReport
		want string
	}{
		{"", datastore.RemovalReport{}, "group vm/7 (0 snapshots)"},
		{"", datastore.RemovalReport{Snapshots: snapshotsAt(t, "", first)}, "group vm/7 (1 snapshot; " + first + ")"},
		{
			"a/b",
			datastore.RemovalReport{Snapshots: snapshotsAt(t, "a/b", first, second, third), Other: []string{"x", "y"}},
			"group vm/7 in namespace a/b (3 snapshots; oldest " + first + ", newest " + third + ", 2 unknown entries)",
		},
		{
			"",
			datastore.RemovalReport{Snapshots: snapshotsAt(t, "", first, second), Protected: snapshotsAt(t, "", third)},
			"2 snapshots of group vm/7 (keeping 1 protected snapshot; oldest " + first + ", newest " + second + ")",
		},
	}
	for _, test := range tests {
		group := snapshotsAt(t, test.ns, first)[0].Group
		if got := describeGroup(group, test.plan); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestRemovalsAreReportedOldestFirst(t *testing.T) {
	t.Parallel()
	want := snapshotsAt(t, "", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
	r := removal{run: func(context.Context, *datastore.Datastore, bool) (datastore.RemovalReport, error) {
		return datastore.RemovalReport{Snapshots: []backupinfo.Snapshot{want[1], want[0]}}, nil
	}}
	got, err := r.tried(t.Context(), nil, true)
	if err != nil || got.Snapshots[0] != want[0] {
		t.Errorf("%v, %v", got, err)
	}
}

func TestARefusedUnfinishedSnapshotIsPresumablyInUse(t *testing.T) {
	t.Parallel()
	r := removal{run: func(context.Context, *datastore.Datastore, bool) (datastore.RemovalReport, error) {
		return datastore.RemovalReport{}, datastore.ErrUnfinished
	}}
	_, err := r.tried(t.Context(), nil, false)
	if exitCode(t.Context(), err) != exitLocked || err.Error() != datastore.ErrUnfinished.Error() || !errors.Is(err, datastore.ErrUnfinished) {
		t.Errorf("%v", err)
	}
}
