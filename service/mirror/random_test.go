package mirror

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
)

// TestTheMirrorIsTheArchive makes random changes and compares a mirror that
// follows them with one that is read anew, and with the archive's own list.
func TestTheMirrorIsTheArchive(t *testing.T) {
	ctx := t.Context()
	a, err := archive.Open(ctx, archive.Options{Dir: archivetest.Dir(t), Create: true, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	follower := New(a, false)
	people := []string{"ann@acme.example", "bob@acme.example", "cy@other.example"}
	at := time.Now()
	rapid.Check(t, func(t *rapid.T) {
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			at = at.Add(time.Minute)
			id := rapid.Int64Range(1, 30).Draw(t, "id")
			who := rapid.SampledFrom(people).Draw(t, "who")
			switch rapid.IntRange(0, 4).Draw(t, "change") {
			case 0, 1:
				shared := rapid.SampledFrom([]string{"no_teams", "single_team", "multiple_teams", "all_teams"}).Draw(t, "shared")
				team := rapid.SampledFrom([]string{"Sales", "Support"}).Draw(t, "team")
				start := testStart.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "start")) * time.Hour).Format(time.RFC3339)
				raw := fmt.Appendf(nil, `{"recording_id": %d, "shared_with": %q, "recording_start_time": %q, "recorded_by": {"email": %q, "team": %q}}`, id, shared, start, who, team)
				o, err := archive.FromMeeting("anns", archive.SourceList, at, raw)
				if err != nil {
					t.Fatal(err)
				}
				if o.Walk, err = a.LatestWalk(ctx, "anns", ""); err != nil {
					t.Fatal(err)
				}
				if _, err := a.Apply(ctx, []archive.Observation{o}); err != nil {
					t.Fatal(err)
				}
			case 2:
				if err := a.SetShares(ctx, id, map[string]archive.ShareLevel{archive.UserPrincipal(who): archive.ShareStandard}); err != nil {
					t.Fatal(err)
				}
			case 3:
				if err := a.PutTeamMembers(ctx, "main", rapid.SampledFrom([]string{"Sales", "Support"}).Draw(t, "of"), []api.TeamMember{{Email: who}}); err != nil {
					t.Fatal(err)
				}
			case 4:
				w, err := a.BeginWalk(ctx, "anns", "")
				if err != nil {
					t.Fatal(err)
				}
				w.Listed = 1000 // of which some may be missing
				if _, err := a.CompleteWalk(ctx, w); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := follower.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
		fresh := New(a, false)
		if err := fresh.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
		if got, want := follower.IDs(), fresh.IDs(); !slices.Equal(got, want) {
			t.Fatalf("the follower holds %v, the archive %v", got, want)
		}
		for _, who := range people {
			var listed []int64
			rows, err := a.List(ctx, archive.ListQuery{Viewer: archive.ViewerWith(who), IncludeGone: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				listed = append(listed, r.RecordingID)
			}
			if got := follower.visibleTo(who); !slices.Equal(got, listed) {
				t.Fatalf("%s sees %v in the mirror, %v in the archive", who, got, listed)
			}
		}
	})
}

// visibleTo lists all that a person sees, whoever recorded it.
func (m *Mirror) visibleTo(email string) (ids []int64) {
	for _, id := range m.IDs() {
		if m.Shows(id, email) {
			ids = append(ids, id)
		}
	}
	return ids
}
