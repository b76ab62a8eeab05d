package syncer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/absurd"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

// changing stands between the service and the sync and changes values of its
// answers.
type changing struct {
	http.Handler
	*absurd.Changer
}

// ServeHTTP changes some of the answers that are JSON.
func (c changing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := httptest.NewRecorder()
	c.Handler.ServeHTTP(rec, r)
	body := rec.Body.Bytes()
	if rec.Code < 300 {
		body = c.Change(body)
	}
	for key, values := range rec.Header() {
		w.Header()[key] = values
	}
	w.Header().Del("Content-Length")
	w.WriteHeader(rec.Code)
	_, _ = w.Write(body)
}

// TestAbsurdAnswersDoNoHarm syncs with a service whose answers are changed by a
// seed. Nothing panics or hangs, no meeting that was there loses its content or
// goes, and once the answers are right again everything is as the service has it.
func TestAbsurdAnswersDoNoHarm(t *testing.T) {
	testrun.SkipUnderRace(t)
	seeds := uint64(8)
	if testrun.IsLong() {
		seeds = 150
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { syncAbsurd(t, seed) })
		})
	}
}

const absurdMeetings = 12

func syncAbsurd(t *testing.T, seed uint64) {
	now := rig.Today()
	u := rig.NewUpstream(t, service.Options{Video: rig.File(70_000)}, rig.Meetings(absurdMeetings, now.Add(-time.Hour), 50*time.Hour))
	answers := absurd.New(seed)
	u.Wire.Handler = changing{u.Wire.Handler, answers}
	ar := rig.NewArchive(t, archivetest.Dir(t))
	s, err := syncer.New(syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
		Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
	if err != nil {
		t.Fatal(err)
	}
	run := func(rate float64, req syncer.Request) error {
		answers.SetRate(rate)
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Hour)
		defer cancel()
		err := s.Sync(ctx, req, nil)
		time.Sleep(25 * time.Hour)
		return err
	}
	_ = run(0.3, syncer.Request{Media: true}) // into an empty archive
	for range 2 {
		if err := run(0, syncer.Request{Full: true}); err != nil {
			t.Fatalf("seed %d, right again: %v", seed, err)
		}
	}
	want := listShown(t, u.Archive, u.Archive)
	if got := listShown(t, ar, u.Archive); !slices.Equal(got, want) {
		t.Fatalf("seed %d, right again: %s", seed, cmp.Diff(want, got))
	}
	for _, req := range []syncer.Request{{}, {Full: true, Media: true}, {}} {
		_ = run(0.3, req)
		wantUnharmed(t, ar, seed)
	}
	for range 2 {
		if err := run(0, syncer.Request{Full: true}); err != nil {
			t.Fatalf("seed %d, right again: %v", seed, err)
		}
	}
	if got := listShown(t, ar, u.Archive); !slices.Equal(got, want) {
		t.Errorf("seed %d, right again: %s", seed, cmp.Diff(want, got))
	}
}

// wantUnharmed looks at the meetings that were archived before the absurd answers.
func wantUnharmed(t *testing.T, ar *archive.Archive, seed uint64) {
	t.Helper()
	gone := 0
	for id := int64(1); id <= absurdMeetings; id++ {
		row, err := ar.Row(t.Context(), id)
		if err != nil {
			t.Fatalf("seed %d: meeting %d: %v", seed, id, err)
		}
		if row.Gone {
			gone++
		}
		entries, err := ar.Entries(t.Context(), id, 0, -1)
		if err != nil || !slices.ContainsFunc(entries, func(e archive.Entry) bool { return e.Text != "" }) {
			t.Errorf("seed %d: meeting %d has a transcript of %+v, %v", seed, id, entries, err)
		}
		if !row.HasTranscript || !row.HasSummary || row.Title == "" || row.Start.IsZero() {
			t.Errorf("seed %d: meeting %d lost something: %+v", seed, id, row)
		}
	}
	if gone > 3 {
		t.Errorf("seed %d: %d meetings are gone", seed, gone)
	}
}

// listShown returns the parts of the service's meetings as the archive has them, for
// every part with content at the service: a part without content there stays as it
// was once shown.
func listShown(t *testing.T, ar, upstream *archive.Archive) (list []string) {
	t.Helper()
	members := func(ar *archive.Archive, id int64) map[string]json.RawMessage {
		var all map[string]json.RawMessage
		raw, err := ar.MeetingJSON(t.Context(), id)
		if err == nil {
			err = json.Unmarshal(raw, &all)
		}
		if err != nil {
			t.Errorf("meeting %d: %v", id, err)
		}
		return all
	}
	for id := int64(1); id <= absurdMeetings; id++ {
		row, err := ar.Row(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%d: gone %v", id, row.Gone))
		got, expected := members(ar, id), members(upstream, id)
		for _, key := range slices.Sorted(maps.Keys(expected)) {
			if !api.Empty(expected[key]) {
				list = append(list, fmt.Sprintf("%d: %s: %s", id, key, got[key]))
			}
		}
	}
	return list
}
