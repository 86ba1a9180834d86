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
