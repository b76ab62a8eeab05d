package web

import (
	"context"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/web/access"
)

// TestReadsAreRecorded reads a meeting with a site whose configuration asks for a
// record of it.
func TestReadsAreRecorded(t *testing.T) {
	t.Parallel()
	s := newEntrySite(t, nil)
	s.attachVideo(s.ids[0])
	o := s.options()
	o.Audit = s.people
	handler, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	_, page := s.do("GET", server.URL+"/meetings/"+itoa(s.ids[0]), nil)
	captions := regexp.MustCompile(`<track[^>]* src="([^"]*)"`).FindStringSubmatch(page)
	if captions == nil {
		t.Fatal("the player has no captions")
	}
	meeting, data := server.URL+"/meetings/"+itoa(s.ids[0]), server.URL+"/api/v1/meetings/"+itoa(s.ids[0])
	s.attachVideo(s.ids[1])
	other := server.URL + "/api/v1/meetings/" + itoa(s.ids[1])
	for _, address := range []string{meeting, other, other + "/media/video", other + "/media/clip?t=0&end=1"} {
		s.do("HEAD", address, nil) // nobody reads its answer
	}
	for _, address := range []string{meeting + "?player", server.URL + captions[1], data + "/media/video", data + "/media/video", data + "/transcript", server.URL + "/api/v1/meetings/99999", meeting + "/transcript.vtt", server.URL + "/meetings/99999"} {
		s.do("GET", address, nil, "Range", "bytes=7-")
	}
	for _, tool := range []string{"get_meeting", "read_transcript"} {
		for _, id := range []int64{s.ids[0], 99999} {
			call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"recording_id":` + itoa(id) + `}}}`
			r := httptest.NewRequest("POST", server.URL+"/mcp", strings.NewReader(call))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != 200 {
				t.Errorf("%s: %d %s", tool, w.Code, w.Body)
			}
		}
	}
	events, err := s.people.Events(t.Context(), access.EventQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var got []access.EventKind
	for _, e := range events {
		if e.IDs != (access.IDs{Meeting: s.ids[0]}) || e.Actor != access.ActorOwner {
			t.Errorf("event %+v", e)
		}
		got = append(got, e.Kind)
	}
	if want := []access.EventKind{access.MeetingOpened, access.MeetingPlayed, access.MeetingOpened, access.MeetingDownloaded, access.MeetingOpened, access.MeetingOpened}; !slices.Equal(got, want) {
		t.Errorf("recorded %v, want %v", got, want)
	}
}

// TestAPlayingIsRecordedOrNotBegun ends the first request before its record is written,
// as a player that closes the connection does.
func TestAPlayingIsRecordedOrNotBegun(t *testing.T) {
	t.Parallel()
	s := newEntrySite(t, nil)
	p := newReads(s.people, time.Now)
	event := access.Event{Actor: access.ActorOwner, Kind: access.MeetingPlayed, IDs: access.IDs{Meeting: 1}}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.recordPlaying(gone, event); err == nil {
		t.Error("a request that has ended is recorded")
	}
	for range 3 {
		if err := p.recordPlaying(t.Context(), event); err != nil {
			t.Error(err)
		}
	}
	events, err := s.people.Events(t.Context(), access.EventQuery{})
	if err != nil || len(events) != 1 {
		t.Errorf("recorded %v, %v; want one", events, err)
	}
}

// TestAFormOfAnOpenPageOpensNothing writes notes on the page of a meeting, which leads back to it,
// and reads no recording before it plays.
func TestAFormOfAnOpenPageOpensNothing(t *testing.T) {
	t.Parallel()
	s := newEntrySite(t, nil)
	s.attachVideo(s.ids[0])
	o := s.options()
	for _, audit := range []*access.DB{nil, s.people} {
		o.Audit = audit
		handler, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		page := func(i int) string { return server.URL + "/meetings/" + itoa(s.ids[i]) }
		write := func(i int) {
			t.Helper()
			if resp, body := s.do("POST", page(i)+"/notes", url.Values{"do": {"add"}, "text": {"Ask Bo."}}, "Sec-Fetch-Site", "same-origin"); resp.StatusCode != 303 {
				t.Fatalf("%d %s", resp.StatusCode, body)
			}
		}
		_, body := s.do("GET", page(0), nil) // recorded
		if preload := map[bool]string{true: `preload="none"`, false: `preload="metadata"`}[audit != nil]; !strings.Contains(body, preload) {
			t.Errorf("the player has no %s", preload)
		}
		write(0)
		s.do("GET", page(0), nil)
		write(0)
		s.do("GET", page(0), nil)
		s.do("GET", page(0), nil) // recorded
		write(1)                  // it is not open
		s.do("GET", page(1), nil) // recorded
	}
	events, err := s.people.Events(t.Context(), access.EventQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, e := range events {
		if e.Kind == access.MeetingOpened {
			got = append(got, e.IDs.Meeting)
		}
	}
	slices.Sort(got)
	if want := []int64{s.ids[0], s.ids[0], s.ids[1]}; !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("recorded %v, want %v", got, want)
	}
}
