package inbox

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"minutebook/internal/testrun"
)

// After random deliveries, repeats, applying with dropped bodies, forgetting and
// reopening, every delivery has the state and the body that it should.
func TestKeepsDeliveriesAtRandom(t *testing.T) {
	testrun.SkipUnderRace(t)
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			r.Fatal(err)
		}
		s := &model{t: t, r: r, path: filepath.Join(dir, "inbox.db"), waits: map[string]string{}, gone: map[string]bool{}}
		s.i = openInbox(t, s.path, Options{})
		defer func() { s.i.Close() }()
		steps := []func(){s.arrive, s.repeat, s.apply, s.forget, s.reopen}
		for _, step := range rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 2, 3, 4}), 1, 8).Draw(r, "steps") {
			steps[step]()
			s.check()
		}
	})
}

// inboxModel is an inbox and its expected content.
type model struct {
	t     *testing.T
	r     *rapid.T
	path  string
	i     *Inbox
	n     int               // deliveries so far
	waits map[string]string // bodies of waiting deliveries, by id
	gone  map[string]bool   // known, without a body
}

func (s *model) next() Delivery {
	d := delivery("a", fmt.Sprint("msg_", s.n), largeBody(s.n))
	s.n++
	d.RecordingID, s.waits[d.WebhookID] = int64(s.n), string(d.Body)
	return d
}

func (s *model) arrive() { put(s.t, s.i, s.next()) }

func (s *model) repeat() {
	if s.n == 0 {
		return
	}
	id := fmt.Sprint("msg_", rapid.IntRange(0, s.n-1).Draw(s.r, "of"))
	if !put(s.t, s.i, delivery("a", id, "{}")) {
		s.r.Fatal("a repeat is taken for a new delivery")
	}
}

// apply settles two deliveries and lets their bodies go.
func (s *model) apply() {
	ds, err := s.i.Pending(s.t.Context(), 2)
	if err != nil {
		s.r.Fatal(err)
	}
	for _, d := range ds {
		if err := s.i.Settle(s.t.Context(), Outcome{ID: d.ID}); err != nil {
			s.r.Fatal(err)
		}
		delete(s.waits, d.WebhookID)
		s.gone[d.WebhookID] = true
	}
	if _, err := s.i.DropBodiesBefore(s.t.Context(), time.Now().Add(time.Hour)); err != nil {
		s.r.Fatal(err)
	}
}

func (s *model) forget() {
	k := rapid.IntRange(0, s.n).Draw(s.r, "which")
	if _, err := s.i.ForgetRecording(s.t.Context(), int64(k+1)); err != nil {
		s.r.Fatal(err)
	}
	if id := fmt.Sprint("msg_", k); k < s.n {
		delete(s.waits, id)
		s.gone[id] = true
	}
}

func (s *model) reopen() {
	if err := s.i.Close(); err != nil {
		s.r.Fatal(err)
	}
	s.i = openInbox(s.t, s.path, Options{})
}

func (s *model) check() {
	if diff := cmp.Diff(s.waits, bodiesOf(s.t, s.i)); diff != "" {
		s.r.Fatal(diff)
	}
	for id := range s.gone {
		d, err := s.i.DeliveryOf(s.t.Context(), "a", id)
		if err == nil {
			d, err = s.i.Delivery(s.t.Context(), d.ID)
		}
		if err != nil || d.Body != nil {
			s.r.Fatalf("%s has a body of %d bytes, %v; it was dropped", id, len(d.Body), err)
		}
	}
}
