package service

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
)

var oneSummary = []string{"default_summary", `{"markdown_formatted": "one"}`}

// newDamaged returns a service with a webhook that meeting 1 fires, of which a part is damaged. Meeting 2
// has the same content, so that a repair finds it.
func newDamaged(t *testing.T, part string) (*sandbox, *archive.Archive) {
	t.Helper()
	dir := ArchiveDir(t)
	a := openTestArchive(t, dir)
	if err := a.PutAccountPerson(t.Context(), "anns", "ann@acme.example"); err != nil {
		t.Fatal(err)
	}
	s := newSandbox(t, Options{Archive: a})
	s.annsHook()
	s.caughtUp(t)
	arrive(t, a, archive.SourceImport, newer(2, oneSummary...))
	arrive(t, a, archive.SourceList, newer(1, oneSummary...))
	archivetest.Damage(t, filepath.Join(dir, "archive.db"), `UPDATE bodies SET encoding = 1, body = x'00'
		WHERE revision_id IN (SELECT id FROM revisions WHERE recording_id = 1 AND part = '`+part+`')`)
	return s, a
}

// A webhook about a meeting that cannot be read when it is decided waits for the repair, however long
// that takes.
func TestARepairedMeetingFires(t *testing.T) {
	for _, part := range []string{"transcript", "default_summary"} {
		for _, after := range []time.Duration{0, 72 * time.Hour} {
			s, a := newDamaged(t, part)
			s.caughtUp(t)
			for r := newRelay(s.Service); after > 0; after -= 12 * time.Hour {
				s.clock.add(12 * time.Hour)
				s.step(t, r)
			}
			if _, err := a.Verify(t.Context(), archive.VerifyOptions{Repair: true, SkipMedia: true}, func(archive.Damage) {}); err != nil {
				t.Fatal(err)
			}
			s.caughtUp(t)
			if got := s.queued(); got != "1" {
				t.Errorf("%s, after the repair: sent %q, want 1", part, got)
			}
			var left int
			if err := s.store.db.R.QueryRowContext(t.Context(), `SELECT count(*) FROM undecided`).Scan(&left); err != nil || left != 0 {
				t.Errorf("%d meetings are still undecided, %v", left, err)
			}
		}
	}
}

// It waits no longer than until a newer version of the damaged part comes.
func TestAMeetingThatANewerVersionRepairsFires(t *testing.T) {
	s, a := newDamaged(t, "transcript")
	r := newRelay(s.Service)
	for range 6 { // no time that it waits for is to come then
		s.step(t, r)
		s.clock.add(12 * time.Hour)
	}
	const transcript = `[{"speaker": {"display_name": "A", "matched_calendar_invitee_email": null}, "text": "new", "timestamp": "00:00:01"}]`
	arriveAt(t, a, "anns", archive.SourceList, s.clock.Now(), newer(1, append(slices.Clone(oneSummary), "transcript", transcript)...))
	s.step(t, r)
	if got := s.queued(); got != "1" {
		t.Errorf("after the newer version: sent %q, want 1", got)
	}
}
