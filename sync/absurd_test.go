package syncer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/bench/sync/rig"
	"minutebook/service"
	syncer "minutebook/sync"
)

// absurd stands between the service and the sync and changes values of its
// answers, by a seed: their types, signs and sizes, whether they are there, how
// many there are and how often.
type absurd struct {
	http.Handler
	rand *rand.Rand
	rate float64 // of answers; 0: none
}

// ServeHTTP changes some of the answers that are JSON.
func (a *absurd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := httptest.NewRecorder()
	a.Handler.ServeHTTP(rec, r)
	body := rec.Body.Bytes()
	if rec.Code < 300 && json.Valid(body) && a.rand.Float64() < a.rate {
		for range 1 + a.rand.IntN(3) {
			body = a.change(body)
		}
	}
	for key, values := range rec.Header() {
		w.Header()[key] = values
	}
	w.Header().Del("Content-Length")
	w.WriteHeader(rec.Code)
	_, _ = w.Write(body)
}

// place is a value in a JSON text.
type place struct{ from, to int }

// places are all values of a text, objects and arrays too; keys are left out.
func places(raw []byte) (list []place) {
	d := json.NewDecoder(bytes.NewReader(raw))
	type level struct {
		from        int
		object, key bool
	}
	var open []level
	done := func(from int) {
		list = append(list, place{from, int(d.InputOffset())})
		if n := len(open); n > 0 && open[n-1].object {
			open[n-1].key = true
		}
	}
	for {
		from := int(d.InputOffset())
		token, err := d.Token()
		if err != nil {
			return list
		}
		from += len(raw[from:d.InputOffset()]) - len(bytes.TrimLeft(raw[from:d.InputOffset()], " \t\r\n,:"))
		switch token {
		case json.Delim('{'), json.Delim('['):
			open = append(open, level{from, token == json.Delim('{'), token == json.Delim('{')})
			continue
		case json.Delim('}'), json.Delim(']'):
			last := open[len(open)-1]
			open = open[:len(open)-1]
			done(last.from)
			continue
		}
		if n := len(open); n > 0 && open[n-1].key {
			open[n-1].key = false
			continue
		}
		done(from)
	}
}

// change replaces, repeats or removes one value.
func (a *absurd) change(raw []byte) []byte {
	list := places(raw)
	if len(list) == 0 {
		return raw
	}
	p := list[a.rand.IntN(len(list))]
	old := string(raw[p.from:p.to])
	others := []string{"null", "0", "-1", "-9223372036854775808", "9223372036854775807", "18446744073709551616", "1e300", "-0.5", `""`,
		`"x"`, "[]", "{}", "true", "[null]", `[{}]`, `{"a":{}}`, `"` + strings.Repeat("long ", 5000) + `"`, `"0000-00-00T00:00:00Z"`,
		`"9999-12-31T23:59:59Z"`, `"0001-01-01T00:00:00Z"`, `"\ud800"`, "[" + strings.Repeat(old+",", min(2000, 1<<18/len(old))) + old + "]",
		strings.Repeat("[", 200) + strings.Repeat("]", 200), `"` + strings.Trim(old, `"{}[]`) + `"`, "-" + old}
	next := others[a.rand.IntN(len(others))]
	out := slices.Concat(raw[:p.from], []byte(next), raw[p.to:])
	if key := bytes.LastIndexByte(raw[:p.from], '"'); a.rand.IntN(4) == 0 && key > 0 && p.from-key < 4 { // the key once more
		begin := bytes.LastIndexByte(raw[:key], '"')
		out = slices.Concat(raw[:p.to], []byte(","), raw[begin:key+1], []byte(":"+next), raw[p.to:])
	}
	if !json.Valid(out) {
		return raw
	}
	return out
}

// TestAbsurdAnswersDoNoHarm syncs with a service whose answers are changed by a
// seed. Nothing panics or hangs, no meeting that was there loses its content or
// goes, and once the answers are right again everything is as the service has it.
func TestAbsurdAnswersDoNoHarm(t *testing.T) {
	seeds := uint64(8)
	if long() {
		seeds = 150
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { absurdly(t, seed) })
		})
	}
}

const absurdMeetings = 12

func absurdly(t *testing.T, seed uint64) {
	now := rig.Today()
	u := rig.NewUpstream(t, service.Options{Video: rig.File(70_000)}, rig.Meetings(absurdMeetings, now.Add(-time.Hour), 50*time.Hour))
	a := &absurd{Handler: u.Wire.Handler, rand: rand.New(rand.NewPCG(seed, 1))}
	u.Wire.Handler = a
	ar := rig.NewArchive(t, t.TempDir())
	s, err := syncer.New(syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
		Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
	if err != nil {
		t.Fatal(err)
	}
	run := func(rate float64, req syncer.Request) error {
		a.rate = rate
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
	want := shown(t, u.Archive, u.Archive)
	if got := shown(t, ar, u.Archive); !slices.Equal(got, want) {
		t.Fatalf("seed %d, right again: %s", seed, cmp.Diff(want, got))
	}
	for _, req := range []syncer.Request{{}, {Full: true, Media: true}, {}} {
		_ = run(0.3, req)
		unharmed(t, ar, seed)
	}
	for range 2 {
		if err := run(0, syncer.Request{Full: true}); err != nil {
			t.Fatalf("seed %d, right again: %v", seed, err)
		}
	}
	if got := shown(t, ar, u.Archive); !slices.Equal(got, want) {
		t.Errorf("seed %d, right again: %s", seed, cmp.Diff(want, got))
	}
}

// unharmed looks at what was there before the absurd answers.
func unharmed(t *testing.T, ar *archive.Archive, seed uint64) {
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

// shown is what an archive shows of the service's meetings, of all that says
// something there: where it says nothing, what was once shown stays.
func shown(t *testing.T, ar, upstream *archive.Archive) (list []string) {
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
		got, there := members(ar, id), members(upstream, id)
		for _, key := range slices.Sorted(maps.Keys(there)) {
			if !api.Empty(there[key]) {
				list = append(list, fmt.Sprintf("%d: %s: %s", id, key, got[key]))
			}
		}
	}
	return list
}
