package command

import (
	"io"
	"strings"
	"testing"

	"github.com/pbs-like/pbs-like/datastore"
)

func TestWhoseTimeWasUpWithinASnapshotHearsOfResume(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verdict       datastore.Verdict
		resumed, want bool
	}{{datastore.VerdictPartly, false, true}, {datastore.VerdictPartly, true, false}, {datastore.VerdictNotReached, false, false}} {
		var text strings.Builder
		p := newProgram(Streams{In: strings.NewReader(""), Out: io.Discard, Err: &text})
		p.suggestResume(c.resumed, datastore.VerifyReport{Verdicts: map[datastore.Verdict]int{c.verdict: 1}})
		if got := strings.Contains(text.String(), "--resume"); got != c.want {
			t.Errorf("%+v: %q", c, text.String())
		}
	}
}
