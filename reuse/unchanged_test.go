package reuse_test

import (
	"testing"

	"github.com/pbs-like/pbs-like/pxar"
	"github.com/pbs-like/pbs-like/reuse"
)

func file() *pxar.Entry {
	return &pxar.Entry{Kind: pxar.File, Split: true, Size: 5, Metadata: pxar.Metadata{
		Stat:   pxar.Stat{Mode: 0o100644, Flags: 1 << 16, UID: 1, GID: 2, Seconds: 3, Nanoseconds: 4},
		Xattrs: []pxar.Xattr{{Name: "user.a", Value: []byte("1")}, {Name: "user.b"}},
		ACL: pxar.ACL{
			Users: []pxar.ACLEntry{{ID: 1, Perm: 7}}, Groups: []pxar.ACLEntry{{ID: 2, Perm: 5}}, GroupObj: new(uint64(4)),
			Default: &pxar.ACLDefault{UserObj: 7, Mask: pxar.NoPerm}, DefaultUsers: []pxar.ACLEntry{{ID: 3}}, DefaultGroups: []pxar.ACLEntry{{ID: 4}},
		},
		FCaps: []byte{}, QuotaProject: new(uint64(9)),
	}}
}

func TestAnyDifferenceOfTheMetadataCountsAndValuesOfAttributesDoNot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*pxar.Entry)
		want   bool
	}{
		"nothing":                  {func(*pxar.Entry) {}, true},
		"the value of an xattr":    {func(e *pxar.Entry) { e.Xattrs[0].Value = []byte("2") }, true},
		"the size":                 {func(e *pxar.Entry) { e.Size++ }, false},
		"the mode":                 {func(e *pxar.Entry) { e.Mode = 0o100600 }, false},
		"the flags":                {func(e *pxar.Entry) { e.Flags = 0 }, false},
		"the owner":                {func(e *pxar.Entry) { e.UID++ }, false},
		"the group":                {func(e *pxar.Entry) { e.GID++ }, false},
		"the seconds":              {func(e *pxar.Entry) { e.Seconds-- }, false},
		"the nanoseconds":          {func(e *pxar.Entry) { e.Nanoseconds++ }, false},
		"the name of an xattr":     {func(e *pxar.Entry) { e.Xattrs[0].Name = "user.c" }, false},
		"the order of xattrs":      {func(e *pxar.Entry) { e.Xattrs[0], e.Xattrs[1] = e.Xattrs[1], e.Xattrs[0] }, false},
		"an xattr less":            {func(e *pxar.Entry) { e.Xattrs = e.Xattrs[:1] }, false},
		"a user of the ACL":        {func(e *pxar.Entry) { e.ACL.Users[0].Perm = 6 }, false},
		"a group of the ACL":       {func(e *pxar.Entry) { e.ACL.Groups = nil }, false},
		"the ACL's group":          {func(e *pxar.Entry) { e.ACL.GroupObj = nil }, false},
		"the default ACL":          {func(e *pxar.Entry) { e.ACL.Default.Mask = 7 }, false},
		"no default ACL":           {func(e *pxar.Entry) { e.ACL.Default = nil }, false},
		"a default user":           {func(e *pxar.Entry) { e.ACL.DefaultUsers = nil }, false},
		"a default group":          {func(e *pxar.Entry) { e.ACL.DefaultGroups[0].ID++ }, false},
		"no capabilities":          {func(e *pxar.Entry) { e.FCaps = nil }, false},
		"the capabilities":         {func(e *pxar.Entry) { e.FCaps = []byte{1} }, false},
		"the quota project":        {func(e *pxar.Entry) { *e.QuotaProject++ }, false},
		"no quota project":         {func(e *pxar.Entry) { e.QuotaProject = nil }, false},
		"what it is":               {func(e *pxar.Entry) { e.Kind = pxar.Hardlink }, false},
		"a content in the archive": {func(e *pxar.Entry) { e.Split = false }, false},
	} {
		old, now := file(), file()
		c.change(old)
		if got := reuse.Unchanged(old, &now.Metadata, now.Size); got != c.want {
			t.Errorf("%s: unchanged %v, want %v", name, got, c.want)
		}
	}
}

func TestAContentThatLeadsOutOfThePayloadIsNotAccepted(t *testing.T) {
	t.Parallel()
	x := openIndex(t, testFile(t, "s1.ppxar.didx"))
	p := reuse.New(x, reuse.Options{})
	end := x.Size()
	for name, c := range map[string]struct {
		offset, size uint64
		want         bool
	}{
		"inside": {16, 3000, true}, "up to the end": {16, end - 32, true}, "beyond the end": {16, end - 31, false}, "no room for a header": {end - 15, 0, false},
		"behind the end": {end + 1, 0, false}, "a size that overflows": {16, ^uint64(0), false}, "an offset that overflows": {^uint64(0), 16, false},
	} {
		if got := p.Accepts(c.offset, c.size); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	p.Take(16, 3000)
	if p.Accepts(16, 3000) || p.Accepts(15, 1) || !p.Accepts(17, 1) {
		t.Error("contents have to lie behind those that were taken")
	}
}
