package syncer_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

// withoutSpeakers answers lists without transcripts as the service does: no
// invitee is matched to a speaker.
func withoutSpeakers(h http.Handler) http.Handler {
	matched := regexp.MustCompile(`"matched_speaker_display_name":"[^"]*"`)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		body := rec.Body.Bytes()
		if strings.HasSuffix(r.URL.Path, "/meetings") && r.URL.Query().Get("include_transcript") != "true" {
			body = matched.ReplaceAll(body, []byte(`"matched_speaker_display_name":null`))
		}
		maps.Copy(w.Header(), rec.Header())
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(rec.Code)
		_, _ = w.Write(body)
	})
}

// upstreamWithInvitee returns a service with five meetings of the last hour, to which Ann
// was invited, and whose lists name no speakers.
func upstreamWithInvitee(t *testing.T) *rig.Upstream {
	invited := bytes.ReplaceAll(rig.Meetings(5, rig.Today().Add(-time.Hour), time.Hour), []byte(`"calendar_invitees":[]`),
		[]byte(`"calendar_invitees":[{"name":"Ann","email":"ann@example.com","email_domain":"example.com","is_external":false,"matched_speaker_display_name":"Ann L"}]`))
	u := rig.NewUpstream(t, service.Options{}, invited)
	u.Wire.Handler = withoutSpeakers(u.Wire.Handler)
	return u
}

// Light walks leave the content that full lists have shown, also where a service answers
// content that was not asked for with an empty list, which is no version of it. Nights in
// which nothing changed upstream log nothing.
func TestNightsOfLightAndFullListsChangeNothing(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := upstreamWithInvitee(t)
		intercept(u, func(r *http.Request, body []byte) []byte {
			if r.URL.Query().Get("include_transcript") != "true" {
				body = bytes.ReplaceAll(body, []byte(`"transcript":null`), []byte(`"transcript":[]`))
			}
			return body
		})
		ar := rig.NewArchive(t, archivetest.Dir(t))
		schedule := nightly()
		schedule.CatchUp = "@hourly" // three days of five minutes take long
		_, stop := running(t, syncer.Options{Archive: ar, Schedule: schedule,
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(time.Hour)
		head, err := ar.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		heavy := u.Wire.Count(heavyCalls)
		time.Sleep(3 * day)
		changes, err := ar.Changes(t.Context(), head, 100)
		if err != nil || len(changes) > 0 {
			t.Errorf("three nights logged %+v, %v; want nothing", changes, err)
		}
		if u.Wire.Count(heavyCalls) == heavy {
			t.Error("no full list was read again")
		}
		for id := int64(1); id <= 5; id++ {
			if !strings.Contains(text(t, ar, id), `"matched_speaker_display_name":"Ann L"`) {
				t.Errorf("the speaker is gone: %s", text(t, ar, id))
			}
			revisions, err := ar.Revisions(t.Context(), id)
			transcripts := slices.DeleteFunc(revisions, func(r archive.Revision) bool { return r.Part != api.PartTranscript })
			if err != nil || len(transcripts) != 1 {
				t.Errorf("meeting %d has the transcripts %+v, %v; want one", id, transcripts, err)
			}
		}
	})
}

// Two accounts that see whether an invitee is external differently do not take turns:
// nights in which nothing changed upstream log nothing.
func TestNightsOfTwoAccountsChangeNothing(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := upstreamWithInvitee(t)
		intercept(u, func(r *http.Request, body []byte) []byte {
			if r.Header.Get("X-Api-Key") != u.Key {
				body = bytes.ReplaceAll(body, []byte(`"is_external":false`), []byte(`"is_external":true`))
			}
			return body
		})
		ar := rig.NewArchive(t, archivetest.Dir(t))
		schedule := nightly()
		schedule.CatchUp = "@hourly"
		_, stop := running(t, syncer.Options{Archive: ar, Schedule: schedule, Accounts: []syncer.Account{
			{Name: "ada", Client: u.Client(t, ar)}, {Name: "ben", Client: clientOf(t, u, rig.Person)}}})
		defer stop()
		time.Sleep(2 * day)
		head, err := ar.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		before := text(t, ar, 1)
		time.Sleep(3 * day)
		changes, err := ar.Changes(t.Context(), head, 100)
		if err != nil || len(changes) > 0 || text(t, ar, 1) != before {
			t.Errorf("three nights logged %+v, %v; want nothing", changes, err)
		}
		revisions, err := ar.Revisions(t.Context(), 1)
		if seen := fmt.Sprint(revisions); err != nil || !strings.Contains(seen, "ada") || !strings.Contains(seen, "ben") {
			t.Errorf("seen by %s, %v; want both accounts", seen, err)
		}
	})
}

// Content that was read while the clock was years ahead gives way to the first read
// after it is right again, and keeps the date that the clock gave it.
func TestAClockThatWasAheadFreezesNoContent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		created := rig.Today().Add(-time.Hour)
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(1, created, time.Hour))
		ahead := 10 * 365 * day
		now := func() time.Time { return time.Now().Add(ahead) }
		ar, err := archive.Open(t.Context(), archive.Options{Dir: archivetest.Dir(t), Create: true, Logger: zerolog.Nop(), Now: now})
		if err != nil {
			t.Fatal(err)
		}
		defer ar.Close()
		client, err := api.NewClient(api.ClientOptions{BaseURL: rig.BaseURL, Credential: api.APIKey(u.Key), HTTP: u.HTTP(), Now: now,
			Budget: api.NewBudget(api.BudgetOptions{Connection: "ada", Store: ar})})
		if err != nil {
			t.Fatal(err)
		}
		s, err := syncer.New(syncer.Options{Archive: ar, Now: now, Logger: zerolog.Nop(),
			Accounts: []syncer.Account{{Name: "ada", Client: client}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, spoken := range []string{"So it was", "So it became"} {
			if err := s.Sync(t.Context(), syncer.Request{Full: true}, nil); err != nil {
				t.Fatal(err)
			}
			ahead = 0
			time.Sleep(time.Minute)
			edit(t, u, 1, created, "So it is", spoken)
		}
		if !strings.Contains(text(t, ar, 1), "So it was") {
			t.Errorf("the later content does not count: %s", text(t, ar, 1))
		}
		revisions, err := ar.Revisions(t.Context(), 1)
		dated := func(r archive.Revision) bool { return r.Part == api.PartTranscript && r.Last.Before(time.Now()) }
		if err != nil || !slices.ContainsFunc(revisions, dated) {
			t.Errorf("no transcript is dated by the right clock: %+v, %v", revisions, err)
		}
	})
}
