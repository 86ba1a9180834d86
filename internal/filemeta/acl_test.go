package filemeta

import (
	"bytes"
	"testing"

	"github.com/pbs-like/pbs-like/pxar"
)

var aclSeeds = [][]byte{
	{},
	{2, 0, 0, 0},
	{1, 0, 0, 0},
	{2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255},
	{2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 4, 0, 232, 3, 0, 0, 4, 0, 5, 0, 255, 255, 255, 255, 8, 0, 1, 0, 1, 0, 0, 0, 16, 0, 7, 0, 255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255},
	{2, 0, 0, 0, 1, 0, 8, 0, 255, 255, 255, 255},
	{2, 0, 0, 0, 3, 0, 7, 0, 255, 255, 255, 255},
	{2, 0, 0, 0, 1, 0, 7},
}

func TestAListComesBackAsItWas(t *testing.T) {
	t.Parallel()
	l, err := parseACL(aclSeeds[4])
	if err != nil || !bytes.Equal(l.value(), aclSeeds[4]) {
		t.Errorf("%x, %v", l.value(), err)
	}
	for _, bad := range [][]byte{aclSeeds[0], aclSeeds[2], aclSeeds[5], aclSeeds[6], aclSeeds[7]} {
		if l, err := parseACL(bad); err == nil {
			t.Errorf("%x is %+v", bad, l)
		}
	}
}

func FuzzAnAccessListIsReadAndWrittenAlike(f *testing.F) {
	for _, seed := range aclSeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := parseACL(b)
		if err != nil {
			return
		}
		again, err := parseACL(l.value())
		if err != nil || !bytes.Equal(again.value(), l.value()) {
			t.Errorf("%x: %x, then %x, %v", b, l.value(), again.value(), err)
		}
	})
}

func TestAListWithoutAMaskGetsOneBesideNames(t *testing.T) {
	t.Parallel()
	six, minusTwo := uint64(6), ^uint64(1)
	tests := map[string]struct {
		m                    pxar.Metadata
		userObj, group, mask uint64
	}{
		"only named":           {pxar.Metadata{Stat: pxar.Stat{Mode: 0o100751}, ACL: pxar.ACL{Users: []pxar.ACLEntry{{ID: 1, Perm: 4}}}}, 7, 5, 5},
		"with the group":       {pxar.Metadata{Stat: pxar.Stat{Mode: 0o100751}, ACL: pxar.ACL{GroupObj: &six}}, 7, 6, 5},
		"a group out of range": {pxar.Metadata{Stat: pxar.Stat{Mode: 0o100751}, ACL: pxar.ACL{GroupObj: &minusTwo}}, 7, 6, 5},
	}
	for name, test := range tests {
		l := accessOf(&test.m)
		if l.userObj != test.userObj || l.groupObj != test.group || l.mask != test.mask || l.other != 1 {
			t.Errorf("%s: %+v", name, l)
		}
	}
}
