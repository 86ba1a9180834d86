package backupinfo

import (
	"strings"
	"testing"
)

func TestFileNamesAreOfTheKindThatTheOriginalSees(t *testing.T) {
	t.Parallel()
	type vector struct {
		Input  string `json:"input"`
		Schema bool   `json:"archive-name-schema"`
		Kind   string `json:"archive-type"`
	}
	for _, v := range vectors[struct {
		List []vector `json:"file-name"`
	}](t, "parse.json").List {
		a, err := ParseFileName(v.Input)
		// The original asks its schema only of names that users give; a name found on
		// disk must pass here as well.
		if want := v.Schema && v.Kind != "error"; (err == nil) != want {
			t.Errorf("ParseFileName(%q): error %v, want accepted: %v", v.Input, err, want)
		} else if want && (a.Kind().Suffix() != "."+v.Kind || a.File() != v.Input) {
			t.Errorf("ParseFileName(%q) = %q, a %v; want a %s", v.Input, a.File(), a.Kind(), v.Kind)
		}
	}
}

func TestClientNamesAndServerNamesMeanTheSameArchive(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		client, server string
		kind           ArchiveKind
	}{
		{"root.pxar", "root.pxar.didx", DynamicIndex},
		{"root.mpxar", "root.mpxar.didx", DynamicIndex},
		{"root.ppxar", "root.ppxar.didx", DynamicIndex},
		{"catalog.pcat1", "catalog.pcat1.didx", DynamicIndex},
		{"drive-scsi0.img", "drive-scsi0.img.fidx", FixedIndex},
		{"qemu-server.conf", "qemu-server.conf.blob", Blob},
		{"a.json", "a.json.blob", Blob},
		{"rsa-encrypted.key", "rsa-encrypted.key.blob", Blob},
		{"client.log", ClientLogName, Blob},
	} {
		short, err1 := ParseArchiveName(c.client)
		full, err2 := ParseArchiveName(c.server)
		if err1 != nil || err2 != nil || short != full {
			t.Errorf("%q and %q are %v and %v: %v, %v", c.client, c.server, short, full, err1, err2)
		}
		if short.File() != c.server || short.Kind() != c.kind || short.Display() != c.client {
			t.Errorf("%q is file %q, a %v, shown as %q", c.client, short.File(), short.Kind(), short.Display())
		}
	}
}

func TestAnArchiveIsShownByANameThatLeadsBackToIt(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"data.img.didx": "data.img.didx", // "data.img" would be the fixed index
		"small.fidx":    "small.fidx",
		"a.blob.blob":   "a.blob.blob",
		"a.conf.blob":   "a.conf",
		"img.fidx":      "img.fidx",
		ManifestName:    ManifestName,
	} {
		a, err := ParseFileName(file)
		if err != nil || a.Display() != want {
			t.Errorf("%q is shown as %q, %v; want %q", file, a.Display(), err, want)
		}
	}
}

func TestAnUnknownExtensionIsAnsweredWithTheKnownOnes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"root.tar", "root", "a.PXAR", ".img", "img", "", "root.pxar."} {
		_, err := ParseArchiveName(name)
		if err == nil {
			t.Errorf("ParseArchiveName(%q) was accepted", name)
			continue
		}
		for _, known := range []string{".pxar", ".mpxar", ".ppxar", ".pcat1", ".img", ".conf", ".json", ".key", ".log", ".didx", ".fidx", ".blob"} {
			if !strings.Contains(err.Error(), known) {
				t.Errorf("%v does not name %s", err, known)
			}
			if known[1] != 'd' && known[1] != 'f' && known != ".blob" && clientKind("a"+known) == 0 {
				t.Errorf("%v names %s, which is not known", err, known)
			}
		}
	}
}

func TestTheManifestIsNoArchive(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"index.json", ManifestName} {
		if a, err := ParseArchiveName(name); err == nil {
			t.Errorf("ParseArchiveName(%q) = %q", name, a.File())
		}
	}
	if a, err := ParseFileName(ManifestName); err != nil || !a.IsManifest() {
		t.Errorf("the manifest's file is not seen as one: %v", err)
	}
}

func TestFileNamesFromAnEnemyAreRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "/etc/passwd.blob", "../a.blob", "a/../b.blob", "..blob", "...blob", ".a.blob", "-a.blob", " a.blob",
		"a\x00.blob", "a\n.blob", "a\x7f.blob", "a\\b.blob", "ä.blob", "a\xff.blob", "\x1b[2J.blob",
		strings.Repeat("a", 251) + ".blob", "blob", ".blob",
	} {
		if a, err := ParseFileName(bad); err == nil {
			t.Errorf("ParseFileName(%q) = %q", bad, a.File())
		}
		if a, err := ParseArchiveName(bad); err == nil {
			t.Errorf("ParseArchiveName(%q) = %q", bad, a.File())
		}
	}
	if _, err := ParseFileName(strings.Repeat("a", 250) + ".blob"); err != nil {
		t.Error(err)
	}
}

func TestKindsHaveNames(t *testing.T) {
	t.Parallel()
	for kind, want := range map[ArchiveKind]string{
		0: "unknown kind", FixedIndex: "fixed index.fidx", DynamicIndex: "dynamic index.didx", Blob: "blob.blob",
	} {
		if got := kind.String() + kind.Suffix(); got != want {
			t.Errorf("kind %d is %q, want %q", kind, got, want)
		}
	}
}
