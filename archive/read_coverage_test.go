package archive

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCoverageCountsWhatEachAccountSees(t *testing.T) {
	a := newArchive(t)
	see := func(account string, ids ...int64) {
		for _, o := range listObservations(account, "", 1, ids...) {
			if o.RecordingID < 3 { // the third has no content
				complete := observe(t, SourceList, o.At, meetingJSON(o.RecordingID, "T", "hello"))
				complete.Account = account
				o = complete
			}
			apply(t, a, o)
		}
	}
	see("ann", 1, 2, 3)
	see("bob", 2)
	delivered := observe(t, SourceWebhook, epoch0, meetingJSON(9, "T", "delivered, not listed yet"))
	delivered.Account = "bob"
	apply(t, a, delivered)
	if _, err := a.WantDownloads(t.Context(), 1, 2); err != nil {
		t.Fatal(err)
	}
	walkTwice(t, a, "ann", "", 1, 2, 3)
	got, err := a.Coverage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Coverage{
		"ann": {Meetings: 3, WithTranscript: 2, WithSummary: 2, RecordingsToDo: 2},
		"bob": {Meetings: 2, WithTranscript: 2, WithSummary: 2, RecordingsToDo: 1},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
