package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/importer"
	"minutebook/archive/inbox"
	"minutebook/internal/testrun"
	syncer "minutebook/sync"
	"minutebook/web/access"
)

// bea is an admin by the tests' headers, ana is none.
var (
	adminBea  = []string{"Test-Person", "bea@other.example", "Test-Admin", "yes"}
	nobodyAna = []string{"Test-Person", "ana@acme.example"}
)

func TestJobsRunFromTheStatus(t *testing.T) {
	s := newSite(t, meeting(1, "One", "2026-06-30T15:00:00Z", ""))
	var ran, events []string
	s.server.Run = func(account, job string) error { ran = append(ran, account+" "+job); return nil }
	s.server.CheckJob = func(account, job string) error {
		if account != "acme" || job == "nothing" {
			return archive.ErrNotFound
		}
		return nil
	}
	s.server.Record = func(_ context.Context, e access.Event) error {
		events = append(events, string(e.Actor)+" "+string(e.Kind)+" "+e.IDs.Account+" "+e.IDs.Job)
		return nil
	}
	s.status = &syncer.Status{Accounts: []syncer.AccountStatus{{Name: "acme", NextRun: map[string]time.Time{syncer.JobWalk: at}}}}
	s.shows(200, "/status", `action="/status/run"`, `aria-label="Run now: Edits and shares of acme"`)
	if _, body := s.get("/status", nobodyAna...); strings.Contains(body, "/status/run") {
		t.Error("who is no admin is shown the buttons")
	}
	walk := url.Values{"account": {"acme"}, "job": {syncer.JobWalk}}
	s.changes("/status/run", walk, "/status")
	if resp := s.post("/status/run", walk, nobodyAna...); resp.StatusCode != http.StatusNotFound {
		t.Errorf("who is no admin is answered %d", resp.StatusCode)
	}
	if resp := s.post("/status/run", walk, "Origin", "https://evil.example"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("another site is answered %d", resp.StatusCode)
	}
	for address, want := range map[string]int{"accounts/acme/jobs/walk": 204, "accounts/acme/jobs/nothing": 404, "accounts/other/jobs/walk": 404} {
		if resp := s.post("/api/v1/"+address, nil, adminBea...); resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", address, resp.StatusCode, want)
		}
	}
	if got := strings.Join(ran, ", "); got != "acme walk, acme walk" || len(events) != 2 || events[0] != "owner job.started acme walk" {
		t.Errorf("ran %s; recorded %q", got, events)
	}
}

func TestQuarantinedDeliveriesAreReplayed(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "One", "2026-06-30T15:00:00Z", ""))
	box := s.archive.Inbox()
	archivetest.Quarantine(t, s.archive, inbox.Delivery{Account: "acme", WebhookID: "msg_1", Body: []byte("<b>")}, "<i>not JSON")
	s.shows(200, "/status", "Quarantined deliveries", "&lt;i&gt;not JSON", `aria-label="Replay delivery 1"`)
	if _, body := s.get("/status", nobodyAna...); strings.Contains(body, "not JSON") {
		t.Error("who is no admin is shown deliveries")
	}
	if resp := s.post("/status/replay", url.Values{"delivery": {"1"}}, nobodyAna...); resp.StatusCode != http.StatusNotFound {
		t.Errorf("who is no admin is answered %d", resp.StatusCode)
	}
	var status struct{ Operations operationsJSON }
	if s.answer(200, "/api/v1/status", &status); len(status.Operations.Quarantined) != 1 || status.Operations.Versions.Go == "" {
		t.Errorf("the status as data: %+v", status.Operations)
	}
	s.changes("/status/replay", url.Values{"delivery": {"1"}}, "/status")
	if d, err := box.Delivery(t.Context(), 1); err != nil || d.State != inbox.StateReceived {
		t.Errorf("the delivery is %s, %v", d.State, err)
	}
	for _, id := range []string{"2", "x", "-1"} {
		if resp := s.post("/api/v1/deliveries/"+id+"/replay", nil); resp.StatusCode != http.StatusNotFound {
			t.Errorf("delivery %s: %d", id, resp.StatusCode)
		}
	}
}

// TestQuarantineNamesNoHiddenMeeting asks, as an admin who sees one of two meetings, for the
// reasons of deliveries about both and about one that is not there yet.
func TestQuarantineNamesNoHiddenMeeting(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(4711, "Secret plan", "2026-06-30T15:00:00Z", ""),
		json.RawMessage(strings.ReplaceAll(string(meeting(8822, "Open plan", "2026-06-30T16:00:00Z", "")), "ana@acme", "bea@other")))
	box, n := s.archive.Inbox(), int64(0)
	quarantine := func(d inbox.Delivery, reason string) {
		n++ // their numbers are in order
		d.Account, d.WebhookID = "acme", fmt.Sprint("msg_", n)
		_, err := box.Put(t.Context(), d)
		must(t, err)
		must(t, box.Settle(t.Context(), inbox.Outcome{ID: n, RecordingID: d.RecordingID, Quarantine: reason}))
	}
	for _, id := range []int64{4711, 8822, 9933} {
		err := &archive.ObservationError{RecordingID: id, Err: fmt.Errorf("part of %d: it is too big", id)}
		quarantine(inbox.Delivery{RecordingID: id, Body: []byte("{}")}, err.Error())
	}
	for _, ids := range [][2]string{{"8822", "4711"}, {"4711", "8822"}, {"8822", `"Secret"`}, {"8822", "8823"}} {
		id, _ := strconv.ParseInt(ids[0], 10, 64) // digits
		d := inbox.Delivery{Kind: inbox.KindSummary, RecordingID: id, Body: []byte(`{"recording_id":` + ids[1] + `}`)}
		_, err := archive.FromDelivery(d)
		quarantine(d, err.Error())
	}
	for _, address := range []string{"/status", "/api/v1/status", "/api/v1/status/events?events=1"} {
		s.shows(200, address, "apply observation of 4711: part of 4711: it is too big", "apply observation of 9933", "it is about recording 8823, and its address was given for 8822")
		_, body := s.get(address, adminBea...)
		for _, secret := range []string{"4711", "9933", "8823", "Secret"} {
			if strings.Contains(body, secret) {
				t.Errorf("%s tells an admin who does not see the meetings %q: %s", address, secret, body)
			}
		}
		for _, want := range []string{"apply observation of 8822: part of 8822: it is too big", "part of …: it is too big", "it is about another recording than its address was given for"} {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not hold %q: %s", address, want, body)
			}
		}
	}
}

// TestStatusNamesNoFileOfAHiddenImport takes a talk from the watched folder, for its owner alone, and
// overwrites its file with something that is refused, as one beside it is. Titles are from such names.
func TestStatusNamesNoFileOfAHiddenImport(t *testing.T) {
	s, dir := newSite(t, meeting(1, "Other", "2026-06-30T15:00:00Z", "")), t.TempDir()
	w := importer.NewWatcher(s.archive, importer.Options{Owner: "Ann <ann@acme.example>"}, dir)
	imported := 0
	for _, content := range []string{"WEBVTT\n\n00:01.000 --> 00:03.000\nSPEAKER_00: We close the plant next week.\n", "WEBVTT\n\nx\ny\n"} {
		must(t, os.WriteFile(filepath.Join(dir, "2026-06-30 Secret plan.vtt"), []byte(content), 0o600))
		must(t, os.WriteFile(filepath.Join(dir, "Secret draft.vtt"), []byte("Secret draft"), 0o600))
		for range 3 {
			r, err := w.Look(t.Context())
			must(t, err)
			imported += r.New
		}
	}
	if _, body := s.get("/api/v1/meetings", adminBea...); imported != 1 || strings.Contains(body, "Secret") {
		t.Fatalf("%d imported; the admin sees %s", imported, body)
	}
	open, err := s.archive.Failures(t.Context(), true)
	must(t, err)
	state := &daemonState{}
	for _, f := range open {
		state.Failures = append(state.Failures, syncer.FailureStatus{Account: f.Account, Class: f.Class, What: f.What, RecordingID: f.RecordingID, Reason: f.Reason})
	}
	s.status = state
	for _, address := range []string{"/status", "/api/v1/status", "/api/v1/status/events?events=1"} {
		s.shows(200, address, "Secret plan.vtt", "Secret draft.vtt")
		_, body := s.get(address, adminBea...)
		if strings.Contains(body, "Secret") || !strings.Contains(body, "a meeting") || !strings.Contains(body, "a file of the watched folder") {
			t.Errorf("%s tells an admin who does not see the meeting of its file: %s", address, body)
		}
	}
	must(t, os.RemoveAll(dir))
	if _, err := w.Look(t.Context()); err == nil {
		t.Error("a folder is read that is away")
	}
	if _, body := s.get("/status", adminBea...); !strings.Contains(body, dir) {
		t.Errorf("the admin is not told which folder is away: %s", body)
	}
}

func TestRecordingsOnTheirWayAreShownToWhoSeesTheMeeting(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Secret plan", "2026-06-30T15:00:00Z", ""))
	err := s.archive.SaveDownload(t.Context(), archive.Download{RecordingID: 1, State: archive.DownloadReady, Account: "acme", Fetched: 2_000_000, Size: 8_000_000})
	if err != nil {
		t.Fatal(err)
	}
	s.shows(200, "/status", "Recordings on their way", "Secret plan", "2.0 MB of 8.0 MB")
	_, body := s.get("/status", adminBea...)
	if strings.Contains(body, "Secret plan") || !strings.Contains(body, "a meeting") {
		t.Error("an admin who does not see the meeting is shown its title, or not that it is fetched")
	}
}

// TestFailuresOfHiddenMeetingsNameNoMeeting asks, as an admin who does not see the meetings,
// for failures whose reasons name them.
func TestFailuresOfHiddenMeetingsNameNoMeeting(t *testing.T) {
	s := newSite(t, meeting(4711, "Secret plan", "2026-06-30T15:00:00Z", ""), meeting(4712, "Secret talk", "2026-06-30T16:00:00Z", ""))
	refused := &api.Error{Status: 404, Method: "GET", Path: "/recordings/4711/transcript", Message: "Secret plan is not here"}
	broken := &fs.PathError{Op: "open", Path: "media/4712.part", Err: fs.ErrPermission}
	var listed []syncer.FailureStatus
	for id, err := range map[int64]error{4711: refused, 4712: broken} {
		f := archive.Failure{Account: "acme", Class: "content", What: strconv.FormatInt(id, 10), RecordingID: id, Reason: err.Error()}
		must(t, s.archive.RecordFailure(t.Context(), f))
		listed = append(listed, syncer.FailureStatus{Account: f.Account, Class: f.Class, What: f.What, RecordingID: id, Reason: f.Reason})
	}
	s.status = syncer.Status{Accounts: []syncer.AccountStatus{{Name: "acme", Failures: listed}}, Failures: listed}
	for _, address := range []string{"/status", "/api/v1/status", "/api/v1/status/events?events=1"} {
		s.shows(200, address, "/recordings/4711/transcript: 404 Not Found: Secret plan", "media/4712.part")
		_, body := s.get(address, adminBea...)
		for _, secret := range []string{"4711", "4712", "Secret", "media/"} {
			if strings.Contains(body, secret) {
				t.Errorf("%s tells an admin who does not see the meetings %q: %s", address, secret, body)
			}
		}
		for _, want := range []string{"the service answered 404 Not Found", "not shown here, since it may tell of the meeting"} {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not hold %q: %s", address, want, body)
			}
		}
	}
}

func TestStatusIsSentAsEvents(t *testing.T) {
	s := newSite(t, meeting(1, "One", "2026-06-30T15:00:00Z", ""))
	resp, body := s.get("/api/v1/status/events?events=1")
	_, want := s.get("/api/v1/status")
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" || body != "event: status\ndata: "+want+"\n" {
		t.Errorf("%s: %q, want the status %q", kind, body, want)
	}
	if resp, _ := s.get("/api/v1/status/events?events=0"); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("no event is asked for: %d", resp.StatusCode)
	}
	if _, body := s.get("/api/v1/status/events?events=1", nobodyAna...); strings.Contains(body, "operations") {
		t.Error("who is no admin is sent the operations")
	}
}

// TestStatusEventsEndWithTheSession signs a person out beneath a stream of events.
func TestStatusEventsEndWithTheSession(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newEntrySite(t, nil)
	p := s.signIn("ann@acme.example", true)
	_, events := s.openEvents(t)
	_, err := s.people.EndSessions(t.Context(), access.ActorCommand, p.ID)
	must(t, err)
	if _, err := io.Copy(io.Discard, events); err != nil {
		t.Errorf("the events go on: %v", err)
	}
}

// openEvents opens the events of the status, of which the first has come, for five minutes.
func (s *entrySite) openEvents(t *testing.T) (r *http.Request, events io.Reader) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/api/v1/status/events", nil)
	must(t, err)
	resp, err := s.Client.Do(r)
	must(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	if _, err := io.ReadFull(resp.Body, make([]byte, len("event: status"))); err != nil {
		t.Fatal(err)
	}
	return r, resp.Body
}

func TestStatusTellsOfBackupsAndTheDisk(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "One", "2026-06-30T15:00:00Z", ""))
	s.status = &daemonState{Disk: diskJSON{Free: 40 << 30, Size: 100 << 30, FullAt: at.AddDate(0, 1, 0)},
		Upkeep: map[string]upkeepJSON{"backup": {Began: at, Succeeded: at, Result: "a backup of 12 meetings", Warnings: []string{"beside the archive"}},
			"prove":  {Next: at.Add(-time.Hour)},
			"verify": {Began: at, Error: "the disk cannot be read", Damages: map[int]int{3: 2}, Next: at}},
		Activities: []activityJSON{{Name: "verify", Since: at, Stage: "recordings", Done: 3, Total: 9}}}
	s.shows(200, "/status", "Backups and checks", "a backup of 12 meetings", "beside the archive", "the disk cannot be read", "It has not run yet; due since 1 Jul 2026, 11:00", "It has not succeeded yet; running now",
		"verify: recordings, since 1 Jul 2026", "3 of 9", "43 GB of 107 GB free", "it is full at 1 Aug 2026")
	var status struct{ Operations operationsJSON }
	if s.answer(200, "/api/v1/status", &status); status.Operations.Upkeep["verify"].Damaged() != 2 || status.Operations.Disk.Size != 100<<30 {
		t.Errorf("the status as data: %+v", status.Operations)
	}
	for _, bad := range []string{"a backup of", "GB free", "verify"} {
		if _, body := s.get("/status", nobodyAna...); strings.Contains(body, bad) {
			t.Errorf("who is no admin is shown %q", bad)
		}
	}
}

func TestEqualFailuresAreOneGroup(t *testing.T) {
	testrun.SkipUnderRace(t)
	failed := func(class, account, what, reason string) failureView {
		return failureView{Failure: archive.Failure{Class: class, Account: account, What: what, Reason: reason}}
	}
	groups := groupFailures([]failureView{failed("download", "a", "1", "404"), failed("download", "a", "2", "404"), failed("download", "b", "3", "404"),
		failed("job", "a", "walk", "404"), failed("job", "a", "news", "404"), failed("download", "a", "4", "403"), failed("download", "a", "5", "404")})
	if len(groups) != 5 || len(groups[0].Same) != 2 || groups[0].Same[1].What != "5" {
		t.Errorf("%+v", groups)
	}
}

// TestStatusEventsEndWithTheDaemon stops the server beneath a stream of events: it ends
// whole, with an event that says so.
func TestStatusEventsEndWithTheDaemon(t *testing.T) {
	s := newSite(t, meeting(1, "One", "2026-06-30T15:00:00Z", ""))
	ctx, stop := context.WithCancel(t.Context())
	served := httptest.NewUnstartedServer(s.Config.Handler)
	served.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	served.Start()
	defer served.Close()
	resp, err := served.Client().Get(served.URL + "/api/v1/status/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	stop()
	body, err := io.ReadAll(resp.Body)
	if err != nil || !strings.HasPrefix(string(body), "event: status\n") || !strings.HasSuffix(string(body), "event: end\ndata: {}\n\n") {
		t.Errorf("%v, %q", err, body)
	}
}
