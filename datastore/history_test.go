package datastore_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/internal/testds"
)

// TestAnyHistoryLosesNothing makes up the life of a store, and compares it after
// every step with a model. Run it for longer with -rapid.checks=5000.
func TestAnyHistoryLosesNothing(t *testing.T) {
	t.Parallel()
	parent := testds.TempDir(t)
	rapid.Check(t, func(r *rapid.T) {
		h := newHistory(t, r, parent)
		defer h.close()
		actions := map[string]func(*rapid.T){
			"": func(r *rapid.T) { h.check(r) },
		}
		for _, do := range disturbed {
			actions["crash in "+do] = func(r *rapid.T) {
				s := h.draw(r, do)
				s.Disk = drawFailure(r)
				h.doWithFailure(r, s)
			}
		}
		for _, what := range []string{
			"backup", "backup again", "backup more", "backup once more", "remove-snapshot", "remove-group", "prune", "protect",
			"unprotect", "notes", "change-owner", "verify", "collect", "collect again", "damage",
			"move-group", "merge-group", "merge-group again", "move-namespace", "create-namespace", "create-namespace again", "remove-namespace",
		} {
			do, _, _ := strings.Cut(what, " ")
			actions[what] = func(r *rapid.T) { h.do(r, h.draw(r, do)) }
		}
		r.Repeat(actions)
	})
}

// disturbed are the steps that are made to go wrong.
var disturbed = []string{
	"backup", "remove-snapshot", "remove-group", "prune", "protect", "unprotect", "notes", "change-owner", "verify", "collect",
	"move-group", "merge-group", "move-namespace", "create-namespace", "remove-namespace",
}

// drawFailure says what happens to the disk. A kill costs a process, and is rarer.
func drawFailure(r *rapid.T) string {
	kind := rapid.SampledFrom([]string{"fail-before", "fail-after", "die-before", "die-before", "kill-before", "kill-after"}).Draw(r, "failure")
	n := rapid.IntRange(0, 12).Draw(r, "change")
	if strings.HasPrefix(kind, "kill") {
		return fmt.Sprintf("%s-%d", kind, n)
	}
	errno := rapid.SampledFrom(errnos).Draw(r, "errno")
	return fmt.Sprintf("%s-%d-%d", kind, n, errno)
}

var (
	historyGroups = []step{{Group: "vm/1"}, {Group: "ct/1"}, {NS: "a/b", Group: "vm/1"}}
	historyOwners = []string{"root@pam", "a@pbs", "b@pbs!token"}
	historyPlaces = []string{"a", "a/b", "c", "c/d"}
)

// draw makes a step up. Mostly it is about something that is there.
func (h *history) draw(r *rapid.T, do string) step {
	s := rapid.SampledFrom(h.someGroups()).Draw(r, "group")
	s.Do = do
	switch do {
	case "backup":
		h.drawBackup(r, &s)
	case "verify":
		s.NS, s.Group = "", ""
	case "collect":
		s.NS, s.Group = "", ""
		s.Flag = rapid.Bool().Draw(r, "at once")
	case "damage":
		s.NS, s.Group = "", ""
		s.Data = rapid.StringOfN(rapid.RuneFrom([]rune("0123456")), 1, 1, 1).Draw(r, "content")
		s.Text = rapid.SampledFrom([]string{"flip", "cut", "empty", "remove"}).Draw(r, "how")
	case "move-group", "merge-group":
		s.Text = rapid.SampledFrom(append([]string{""}, historyPlaces...)).Draw(r, "target")
	case "move-namespace", "create-namespace", "remove-namespace":
		s.NS, s.Group = rapid.SampledFrom(historyPlaces).Draw(r, "namespace"), ""
		s.Text = rapid.SampledFrom(historyPlaces).Draw(r, "new name")
		s.Flag = rapid.IntRange(0, 2).Draw(r, "also") == 0
	case "remove-group":
		s.Flag = rapid.Bool().Draw(r, "keep protected")
	case "prune":
		small := rapid.SampledFrom([]int{0, 0, 0, 1, 2})
		s.Keep = backupinfo.KeepOptions{
			Last: small.Draw(r, "last"), Hourly: small.Draw(r, "hourly"), Daily: small.Draw(r, "daily"), Weekly: small.Draw(r, "weekly"), Monthly: small.Draw(r, "monthly"),
		}
	case "change-owner":
		s.Text = rapid.SampledFrom(historyOwners).Draw(r, "owner")
	default:
		h.drawSnapshot(r, &s)
	}
	return s
}

// someGroups are a few that may be there, and after them those that are.
func (h *history) someGroups() []step {
	list := make([]step, 0, len(h.model.groups))
	for group := range h.model.groups {
		list = append(list, step{NS: group.Namespace.String(), Group: group.String()})
	}
	slices.SortFunc(list, func(a, b step) int { return cmp.Or(cmp.Compare(a.NS, b.NS), cmp.Compare(a.Group, b.Group)) })
	return append(slices.Clone(historyGroups), list...)
}

func (h *history) drawBackup(r *rapid.T, s *step) {
	h.now += backupinfo.Time(rapid.SampledFrom([]time.Duration{time.Minute, time.Hour, 20 * time.Hour, 9 * 24 * time.Hour}).Draw(r, "later") / time.Second)
	s.Time = h.now
	s.Flag = rapid.IntRange(0, 9).Draw(r, "commit") > 0
	digits := rapid.SliceOfNDistinct(rapid.ByteRange('0', '0'+contents-1), 1, 3, rapid.ID[byte]).Draw(r, "data")
	slices.Sort(digits)
	s.Data = string(digits)
	s.Text = historyOwners[0]
	if group, ok := h.model.groups[s.group()]; ok && rapid.IntRange(0, 9).Draw(r, "right owner") > 0 {
		s.Text = string(group.owner)
	}
}

// drawSnapshot chooses a snapshot, or, for notes, a group, and what is said about it.
func (h *history) drawSnapshot(r *rapid.T, s *step) {
	list := make([]backupinfo.Snapshot, 0, len(h.model.snapshots))
	for snapshot := range h.model.snapshots {
		list = append(list, snapshot)
	}
	slices.SortFunc(list, func(a, b backupinfo.Snapshot) int {
		return cmp.Or(cmp.Compare(a.Dir(), b.Dir()), cmp.Compare(a.Time, b.Time))
	})
	s.Time = first - 1 // which was never there
	if n := rapid.IntRange(0, len(list)).Draw(r, "which"); n < len(list) {
		s.NS, s.Group, s.Time = list[n].Group.Namespace.String(), list[n].Group.String(), list[n].Time
	}
	switch s.Do {
	case "notes":
		s.Text = rapid.SampledFrom([]string{"", "x", "two\nlines"}).Draw(r, "notes")
		if rapid.Bool().Draw(r, "of the group") {
			s.Time = 0
		}
	case "protect":
		s.Text = rapid.SampledFrom([]string{"", "why", "because"}).Draw(r, "reason")
		s.Until = rapid.SampledFrom([]backupinfo.Time{0, first, 1 << 33}).Draw(r, "until")
	case "unprotect":
		s.Flag = rapid.Bool().Draw(r, "only expired")
	}
}
