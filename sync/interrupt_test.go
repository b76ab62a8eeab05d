package syncer_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/bench/sync/rig"
	"minutebook/service"
	syncer "minutebook/sync"
)

// endState is everything of an archive that must not depend on how often the
// sync was interrupted.
func endState(t *testing.T, ar *archive.Archive) []string {
	t.Helper()
	var out []string
	for id := range int64(100) {
		raw, err := ar.MeetingJSON(t.Context(), id)
		if err != nil {
			continue
		}
		revisions, err := ar.Revisions(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		media, err := ar.MediaOf(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s, %d revisions", raw, len(revisions)))
		for _, m := range media {
			out = append(out, fmt.Sprintf("%d: %s %s %d", id, m.Kind, m.SHA256, m.Size))
		}
	}
	marks, err := ar.Marks(t.Context(), "sync/ask/")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, fmt.Sprintf("%d asks", len(marks)))
}

// knife stops a run at its nth call, before or after the service has seen it, or
// at its nth piece of media.
type knife struct {
	nth   int // from 1; 0: never
	after bool
	piece bool
}

// arm makes the wire cut run after run, each a step later, so that the last one
// goes through. The result tells whether it was cut.
func (k knife) arm(w *rig.Wire, run int, stop func()) *bool {
	cut := new(bool)
	hit := func(n int) error {
		if k.nth > 0 && n >= k.nth+run-1 {
			*cut = true
			stop()
			return rig.ErrCut
		}
		return nil
	}
	calls, pieces := len(w.Calls()), w.Pieces()
	w.Fail, w.FailPiece = nil, nil
	if k.piece {
		w.FailPiece = func(n int) error { return hit(n - pieces) }
		return cut
	}
	w.Fail = func(n int, _ *http.Request, after bool) error {
		if after != k.after {
			return nil
		}
		return hit(n - calls)
	}
	return cut
}

// interrupted runs a whole sync with recordings, each run of it with a Syncer of
// its own and cut off by the knife, until one goes through.
func interrupted(t *testing.T, u *rig.Upstream, k knife) []string {
	dir := t.TempDir()
	for run := 1; ; run++ {
		if run > 200 {
			t.Fatalf("with %+v the sync never ends", k)
		}
		ar, err := archive.Open(t.Context(), archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		cut := k.arm(u.Wire, run, stop)
		s, err := syncer.New(syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Sync(ctx, syncer.Request{Media: true}, nil)
		stop()
		state := endState(t, ar)
		if err := ar.Close(); err != nil {
			t.Fatal(err)
		}
		if err == nil {
			return state
		}
		if !*cut {
			t.Fatalf("run %d: %v", run, err)
		}
		time.Sleep(2 * time.Minute) // a restart finds an empty budget
	}
}

func TestInterruptedAnywhereTheEndIsTheSame(t *testing.T) {
	t.Parallel()
	var knives []knife
	for nth := 1; nth <= 46; nth += 4 {
		knives = append(knives, knife{nth: nth}, knife{nth: nth + 2, after: true})
	}
	for nth := 1; nth <= 24; nth += 6 {
		knives = append(knives, knife{nth: nth, piece: true})
	}
	synctest.Test(t, func(t *testing.T) {
		now := rig.Today()
		u := rig.NewUpstream(t, service.Options{Video: rig.File(70_000)}, rig.Meetings(12, now.Add(-time.Hour), 50*time.Hour))
		want := interrupted(t, u, knife{})
		if n := len(slices.DeleteFunc(slices.Clone(want), func(s string) bool { return !strings.Contains(s, "video") })); n != 12 {
			t.Fatalf("uninterrupted: %d recordings of 12", n)
		}
		for _, k := range knives {
			if d := cmp.Diff(want, interrupted(t, u, k)); d != "" {
				t.Fatalf("with %+v: %s", k, d)
			}
		}
	})
}
