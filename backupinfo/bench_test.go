package backupinfo

import "testing"

func BenchmarkParseManifest(b *testing.B) {
	text := readTestdata(b, "manifest-typical.json")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseManifest(text); err != nil {
			b.Fatal(err)
		}
	}
}

// A row of a listing asks these of each manifest.
func BenchmarkListManifest(b *testing.B) {
	text := readTestdata(b, "manifest-typical.json")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		m, err := ParseManifest(text)
		if err != nil {
			b.Fatal(err)
		}
		if _, err = m.Fingerprint(); err != nil || m.Notes() == "" || m.VerifyState() == nil || len(m.Files()) != 4 {
			b.Fatal("the manifest does not have what it should have")
		}
	}
}

func BenchmarkMarshalManifest(b *testing.B) {
	text := readTestdata(b, "manifest-typical.json")
	m, err := ParseManifest(text)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Marshal(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseSnapshot(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseSnapshot(Namespace{}, "vm/100/2026-01-15T03:00:00Z"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSnapshotDir(b *testing.B) {
	s := Snapshot{Group{Namespace{"a/b"}, VM, "100"}, 1705312800}
	b.ReportAllocs()
	for b.Loop() {
		if s.Dir() == "" {
			b.Fatal("no path")
		}
	}
}

// BenchmarkPrune decides about 100,000 snapshots, one an hour for eleven years.
func BenchmarkPrune(b *testing.B) {
	list := candidates(make([]Time, 100_000)...)
	for i := range list {
		list[i].Snapshot.Time = Time(1_400_000_000 + 3600*i)
	}
	zone := zoneOf(b, "Europe/Vienna")
	for name, keep := range map[string]KeepOptions{
		"few": {Last: 3, Hourly: 24, Daily: 7, Weekly: 4, Monthly: 12, Yearly: 3},
		"all": {Last: 10, Hourly: 1e6, Daily: 1e6, Weekly: 1e6, Monthly: 1e6, Yearly: 1e6, Within: Span{Years: 20}, WithinHourly: Span{Years: 20}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = Prune(list, keep, zone)
			}
		})
	}
}
