package service

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"minutebook/archive"
)

// over is a service over an archive that its own account fills.
func over(t *testing.T) (*sandbox, *archive.Archive) {
	t.Helper()
	a := openTestArchive(t, t.TempDir())
	s := newSandbox(t, Options{Archive: a, People: map[string]string{"anns": "ann@acme.example"}})
	return s, a
}

// arrive applies a meeting by a source.
func arrive(t *testing.T, a *archive.Archive, src archive.Source, line string) {
	t.Helper()
	o, err := archive.FromMeeting("anns", src, time.Now(), []byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Apply(t.Context(), []archive.Observation{o}); err != nil {
		t.Fatal(err)
	}
}

// caughtUp relays until the relay stands at the head.
func (s *sandbox) caughtUp(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.follow(ctx) }()
	for {
		value, err := s.store.setting(ctx, followKey)
		if err != nil {
			t.Fatal(err)
		}
		head, err := s.archive.Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(value), head.Epoch) && strings.HasSuffix(string(value), ":"+itoa(head.Seq)+"}") {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("the relay stands at %s, the head is %+v", value, head)
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	<-done
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// newer is a meeting that was recorded after the webhooks of a test.
func newer(id int, opts ...string) string {
	at := testStart.Add(time.Duration(id) * time.Hour).Format(time.RFC3339)
	return meeting(id, append([]string{"recording_start_time", `"` + at + `"`}, opts...)...)
}

func TestTheRelaySendsNewMeetingsOnce(t *testing.T) {
	s, a := over(t)
	hook := webhook{email: "ann@acme.example", url: "https://hooks.example/", includes: []partName{"default_summary"},
		triggers: []string{"my_recordings"}, createdAt: testStart}
	if err := s.store.putWebhook(t.Context(), &hook); err != nil {
		t.Fatal(err)
	}
	const bare = `null`
	arrive(t, a, archive.SourceList, meeting(1))                                // recorded before the webhook
	arrive(t, a, archive.SourceImport, newer(2))                                // imported
	arrive(t, a, archive.SourceWebhook, newer(3, "default_summary", bare))      // without a summary yet
	arrive(t, a, archive.SourceList, newer(4))                                  // new
	arrive(t, a, archive.SourceList, newer(5, recordedBy("bob", "Support")...)) // not hers
	s.caughtUp(t)
	sent := func() string {
		list, err := s.Deliveries(t.Context(), "", 10)
		if err != nil {
			t.Fatal(err)
		}
		ids := ""
		for _, d := range list {
			ids = itoa(d.RecordingID) + " " + ids
		}
		return strings.TrimSpace(ids)
	}
	if got := sent(); got != "4" {
		t.Fatalf("sent %q, want 4", got)
	}
	arrive(t, a, archive.SourceSummary, newer(3))                                                     // the summary came late
	arrive(t, a, archive.SourceList, newer(4, "default_summary", `{"markdown_formatted": "edited"}`)) // a later change
	arrive(t, a, archive.SourceList, newer(5, "shared_with", `"all_teams"`))                          // shared later
	s.caughtUp(t)
	if got := sent(); got != "4 3" {
		t.Errorf("sent %q, want 4 3", got)
	}
	if err := a.Rebuild(t.Context(), func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	s.caughtUp(t)
	if got := sent(); got != "4 3" {
		t.Errorf("after a rebuild: %q", got)
	}
}

func TestTheRelayGoesOnFromNowAfterARestore(t *testing.T) {
	s, a := over(t)
	hook := webhook{email: "ann@acme.example", url: "https://hooks.example/", triggers: []string{"my_recordings"}, createdAt: testStart}
	if err := s.store.putWebhook(t.Context(), &hook); err != nil {
		t.Fatal(err)
	}
	arrive(t, a, archive.SourceList, newer(1))
	if err := s.store.set(t.Context(), followKey, []byte(`{"Epoch":"another","Seq":0}`)); err != nil {
		t.Fatal(err)
	}
	s.caughtUp(t)
	if list, err := s.Deliveries(t.Context(), "", 10); err != nil || len(list) != 0 {
		t.Errorf("sent %+v: %v", list, err)
	}
}

func TestOverAnArchiveAPersonSeesWhatTheirAccountSees(t *testing.T) {
	s, a := over(t)
	arrive(t, a, archive.SourceList, meeting(1, append(recordedBy("bob", "Support"), "shared_with", `"no_teams"`)...))
	arrive(t, a, archive.SourceImport, meeting(2, append(recordedBy("bob", "Support"), "shared_with", `"no_teams"`)...))
	if got := s.walk("", s.key("ann@acme.example")); len(got) != 1 || got[0] != 1 {
		t.Errorf("ann sees %v, want what her account was shown", got)
	}
	if _, err := s.CreateUser(t.Context(), NewUser{Email: "cy@acme.example"}); err != nil {
		t.Fatal(err)
	}
	if got := s.walk("", s.key("cy@acme.example")); len(got) != 0 {
		t.Errorf("cy sees %v", got)
	}
}
