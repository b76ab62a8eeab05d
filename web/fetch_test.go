package web

import (
	"context"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/internal/testrun"
)

func TestSpansAreAskedInEveryForm(t *testing.T) {
	testrun.SkipUnderRace(t)
	for query, want := range map[string][2]time.Duration{
		"t=83&end=1:30": {83 * time.Second, 90 * time.Second},
		"t=0&end=12s":   {0, 12 * time.Second},
		"t=83":          {83 * time.Second, -1},
		"t=83&end=83":   {83 * time.Second, -1},
		"t=83&end=x":    {83 * time.Second, -1},
		"end=90":        {-1, -1},
	} {
		from, to := parseSpan(httptest.NewRequest("GET", "/meetings/1?"+query, nil))
		if got := [2]time.Duration{from, to}; got != want {
			t.Errorf("?%s is %v, want %v", query, got, want)
		}
	}
}

func TestClipPlaysItsSpanWithoutScripts(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	s.attachVideo(s.ids[0])
	s.shows(200, "/meetings/"+itoa(s.ids[0])+"?t=1:10&end=1:25.5", `/media/video#t=70,85.5"`, "A clip, 1:10 to 1:25.5<", `data-at="70" data-end="85.5"`)
}

func TestRecordingIsFetchedAgainByAdmins(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Plan", "2026-06-30T15:00:00Z", ""))
	var fetched []int64
	s.server.Fetch = func(ctx context.Context, id int64) (bool, error) {
		fetched = append(fetched, id)
		return s.archive.RetryDownload(ctx, id)
	}
	s.shows(200, "/meetings/1", "The recording is not here yet", "<button>Fetch the recording</button>")
	refused := archive.Download{RecordingID: 1, State: archive.DownloadRefused, Reason: "403"}
	if err := s.archive.SaveRefusal(t.Context(), refused, "acme", false, archive.Position{Seq: math.MaxInt64}); err != nil {
		t.Fatal(err)
	}
	const button = `action="/meetings/1/fetch"`
	s.shows(200, "/meetings/1", "No account here may have the recording", button)
	ana := []string{"Test-Person", "ana@acme.example"}
	if _, body := s.get("/meetings/1", ana...); strings.Contains(body, button) {
		t.Error("a person who is no admin is shown the button")
	}
	if resp, _ := s.submit("/meetings/1/fetch", "", ana...); resp.StatusCode != 403 {
		t.Errorf("a person who is no admin is answered %d", resp.StatusCode)
	}
	if resp, _ := s.submit("/meetings/1/fetch", "", "Test-Person", "eve@other.example", "Test-Admin", "yes"); resp.StatusCode != 404 {
		t.Errorf("an admin who does not see the meeting is answered %d", resp.StatusCode)
	}
	if resp, _ := s.submit("/meetings/1/fetch", ""); resp.StatusCode != 303 || resp.Header.Get("Location") != "/meetings/1" {
		t.Errorf("the owner is answered %d %s", resp.StatusCode, resp.Header.Get("Location"))
	}
	if d, err := s.archive.DownloadOf(t.Context(), 1); err != nil || d.State != archive.DownloadWanted || len(d.RefusedBy) > 0 {
		t.Errorf("the recording is %v, %v", d, err)
	}
	if _, body := s.submit("/api/v1/meetings/1/fetch", ""); body != "{\"requested\":true}\n" || len(fetched) != 2 {
		t.Errorf("the interface answers %s after %v", body, fetched)
	}
	s.attachVideo(1)
	if _, body := s.submit("/api/v1/meetings/1/fetch", ""); body != "{\"requested\":false}\n" {
		t.Errorf("a recording that is here is requested: %s", body)
	}
}

func TestManyInviteesFold(t *testing.T) {
	testrun.SkipUnderRace(t)
	invitees := strings.Repeat(`{"name":"Guest","email":"g@acme.example"},`, 499) + `{"name":"Zoe","email":"z@acme.example"}`
	s := newSite(t, meeting(1, "Plan", "2026-06-30T15:00:00Z", `"calendar_invitees":[`+invitees+`]`))
	body := s.shows(200, "/meetings/1", "and 490 others")
	if before, _, _ := strings.Cut(body, "<details class=\"guests\">"); strings.Count(before, "Guest</bdi>") != 10 || strings.Contains(before, "Zoe") {
		t.Error("more than ten guests are not folded")
	}
}

// TestImportedMeetingsAwaitNoRecording opens a meeting that another program recorded: nothing
// is promised of a recording that nobody can fetch.
func TestImportedMeetingsAwaitNoRecording(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(archive.FirstForeignID+7, "Imported", "2026-06-30T15:00:00Z", ""))
	s.server.Fetch = s.archive.RetryDownload
	address := "/meetings/" + itoa(archive.FirstForeignID+7)
	if body := s.shows(200, address, "imported without a recording"); strings.Contains(body, "/fetch") || strings.Contains(body, "will play here") {
		t.Error("the page promises a recording")
	}
	s.shows(200, "/api/v1"+address+"/media", "imported without a recording")
	if err := s.archive.SaveDownload(t.Context(), archive.Download{RecordingID: archive.FirstForeignID + 7, State: archive.DownloadDeleted}); err != nil {
		t.Fatal(err)
	}
	s.shows(200, address, "A retention rule has deleted")
}
