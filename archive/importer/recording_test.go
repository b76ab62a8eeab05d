package importer

import (
	"testing"
	"time"

	"minutebook/archive"
)

// TestARecordingThatARuleDeletedDoesNotComeBack imports the files of a talk again after a rule has
// deleted its recording, finds them in a watched folder with a summary, and imports them once more
// when no rule deletes recordings any more.
func TestARecordingThatARuleDeletedDoesNotComeBack(t *testing.T) {
	a, dir := ticking(t), t.TempDir()
	const start = "start = 2020-03-01T10:00:00Z\n"
	writeFiles(t, dir, map[string]string{"talk.vtt": talkVTT, "talk.m4a": "\x00\x00\x00\x18ftypM4A sound", "talk.toml": start})
	rules := []archive.RetentionRule{{MediaAfter: 30 * 24 * time.Hour}}
	apply := func(rules []archive.RetentionRule) (n int) {
		t.Helper()
		if waiting, err := a.DeleteExpired(t.Context(), rules, func(e archive.Expired) { n += e.Recordings }); err != nil || waiting {
			t.Fatal(waiting, err)
		}
		return n
	}
	if err := a.AcceptRetention(t.Context(), rules); err != nil {
		t.Fatal(err)
	}
	w := NewWatcher(a, Options{}, dir)
	look(t, w)
	if r := look(t, w); r.Recordings != 1 {
		t.Fatalf("%+v", r)
	}
	if n := apply(rules); n != 1 {
		t.Fatalf("%d deleted", n)
	}
	again := func() Result {
		t.Helper()
		r, err := ReadPath(t.Context(), a, Options{}, dir)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := again(); r.Recordings != 0 || r.Expired != 1 || r.Changed != 0 {
		t.Errorf("imported again: %+v", r)
	}
	writeFiles(t, dir, map[string]string{"talk.toml": start + "summary = \"Short.\""})
	look(t, w)
	if r := look(t, w); r.Recordings != 0 || r.Expired != 1 || r.Changed != 1 {
		t.Errorf("with a summary: %+v", r)
	}
	if n := apply(rules); n != 0 {
		t.Errorf("%d deleted once more", n)
	}
	apply(nil)
	if r := again(); r.Recordings != 1 || r.Expired != 0 {
		t.Errorf("without a rule: %+v", r)
	}
	if counts, err := a.DownloadCounts(t.Context()); err != nil || counts[archive.DownloadDeleted] != 0 {
		t.Errorf("without a rule: %v, %v", counts, err)
	}
}
