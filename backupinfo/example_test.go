package backupinfo_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/pbs-like/pbs-like/backupinfo"
	"github.com/pbs-like/pbs-like/digest"
)

func Example() {
	ns, err := backupinfo.ParseNamespace("a")
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := backupinfo.ParseSnapshot(ns, "vm/100/2026-01-15T03:00:00Z")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Dir())
	// Output: ns/a/vm/100/2026-01-15T03:00:00Z
}

func ExampleParseTime() {
	_, err := backupinfo.ParseTime("2026-02-30T03:00:00Z")
	fmt.Println(err)
	// Output: backup time "2026-02-30T03:00:00Z": no such date and time
}

func ExampleParseArchiveName() {
	for _, name := range []string{"root.pxar", "drive-scsi0.img", "qemu-server.conf.blob", "root.tar"} {
		a, err := backupinfo.ParseArchiveName(name)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(a.Display(), "is", a.File(), "a", a.Kind())
	}
	// Output:
	// root.pxar is root.pxar.didx a dynamic index
	// drive-scsi0.img is drive-scsi0.img.fidx a fixed index
	// qemu-server.conf is qemu-server.conf.blob a blob
	// archive name "root.tar": unknown extension, known are .pxar .mpxar .ppxar .pcat1 (stored as .didx), .img (.fidx), .conf .json .key .log (.blob), and .didx .fidx .blob themselves
}

func ExampleGroup_Compare() {
	groups := []backupinfo.Group{
		{Type: backupinfo.VM, ID: "100"}, {Type: backupinfo.VM, ID: "20"}, {Type: backupinfo.CT, ID: "web"}, {Type: backupinfo.CT, ID: "7"},
	}
	slices.SortStableFunc(groups, backupinfo.Group.Compare)
	fmt.Println(groups)
	// Output: [ct/7 ct/web vm/20 vm/100]
}

func ExampleAuthID_Matches() {
	user, token := backupinfo.AuthID("backup@pbs"), backupinfo.AuthID("backup@pbs!client-1")
	fmt.Println(user.Matches(token), token.Matches(user))
	// Output: true false
}

func ExamplePeriod_Label() {
	t := backupinfo.TimeOf(time.Date(2024, 12, 30, 10, 0, 0, 0, time.UTC))
	fmt.Println(backupinfo.Day.Label(t, time.UTC), backupinfo.Week.Label(t, time.UTC))
	// Output: 2024/12/30 2025/01
}

func ExampleNewManifest() {
	s := backupinfo.Snapshot{Group: backupinfo.Group{Type: backupinfo.CT, ID: "7"}, Time: 1705312800}
	m, err := backupinfo.NewManifest(s)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := m.AddFile(backupinfo.File{Name: "pct.conf.blob", Size: 17, Checksum: digest.Of([]byte("as stored"))}); err != nil {
		fmt.Println(err)
		return
	}
	text, err := m.Marshal()
	fmt.Println(string(text), err)
	// Output:
	// {
	//   "backup-id": "7",
	//   "backup-time": 1705312800,
	//   "backup-type": "ct",
	//   "files": [
	//     {
	//       "crypt-mode": "none",
	//       "csum": "b63800f7440358cb53dfbb7efb09117250230b4f88d99877338c5f13fb009e90",
	//       "filename": "pct.conf.blob",
	//       "size": 17
	//     }
	//   ],
	//   "signature": null,
	//   "unprotected": {}
	// } <nil>
}

func ExampleParseManifest() {
	m, err := backupinfo.ParseManifest([]byte(`{"backup-type":"vm","backup-id":"100","backup-time":1705312800,"files":[],
		"unprotected":{"notes":"before the upgrade","color":"blue"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Snapshot(backupinfo.Namespace{}), m.Notes())
	if err := m.SetNotes("keep this one"); err != nil {
		fmt.Println(err)
		return
	}
	text, err := m.Marshal()
	fmt.Println(string(text), err)
	// Output:
	// vm/100/2024-01-15T10:00:00Z before the upgrade
	// {
	//   "backup-id": "100",
	//   "backup-time": 1705312800,
	//   "backup-type": "vm",
	//   "files": [],
	//   "unprotected": {
	//     "color": "blue",
	//     "notes": "keep this one"
	//   }
	// } <nil>
}

func ExamplePrune() {
	var list []backupinfo.PruneCandidate
	for day := range 10 {
		at := backupinfo.TimeOf(time.Date(2026, 1, 1+day, 3, 0, 0, 0, time.UTC))
		s := backupinfo.Snapshot{Group: backupinfo.Group{Type: backupinfo.VM, ID: "100"}, Time: at}
		list = append(list, backupinfo.PruneCandidate{Snapshot: s, Finished: true, Protected: day == 0})
	}
	keep := backupinfo.KeepOptions{Last: 1, Daily: 2, Weekly: 1}
	if !keep.Keeps() {
		return // nothing is removed then
	}
	for _, d := range backupinfo.Prune(list, keep, time.UTC) {
		if d.Keep() {
			fmt.Println(d.Snapshot, d.Mark, d.Reasons)
		}
	}
	// Output:
	// vm/100/2026-01-10T03:00:00Z keep [last]
	// vm/100/2026-01-09T03:00:00Z keep [daily]
	// vm/100/2026-01-08T03:00:00Z keep [daily]
	// vm/100/2026-01-04T03:00:00Z keep [weekly]
	// vm/100/2026-01-01T03:00:00Z protected [protected]
}
