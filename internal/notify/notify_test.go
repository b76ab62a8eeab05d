package notify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// memory is a Store that can be full.
type memory struct {
	raw   []byte
	full  bool
	saves int
}

func (m *memory) Load(context.Context) ([]byte, error) { return m.raw, nil }
func (m *memory) Save(_ context.Context, state []byte) error {
	if m.full {
		return errors.New("disk full")
	}
	m.raw, m.saves = state, m.saves+1
	return nil
}

// recorded is a Channel that fails as refuse says.
type recorded struct {
	name   string
	refuse func(Message) error
	mu     sync.Mutex // guards got
	got    []Message
}

func (r *recorded) Name() string { return r.name }
func (r *recorded) Send(_ context.Context, m Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse != nil {
		if err := r.refuse(m); err != nil {
			return err
		}
	}
	r.got = append(r.got, m)
	return nil
}

// TestStatesNameWhatFails has one channel that refuses and one that works, and a heartbeat
// that answers 500.
func TestStatesNameWhatFails(t *testing.T) {
	failing := true
	good, bad := &recorded{name: "good"}, &recorded{name: "bad", refuse: func(Message) error {
		if failing {
			return errors.New("it answers 500")
		}
		return nil
	}}
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	n := &Notifier{Channels: func() []Channel { return []Channel{good, bad} }, Store: &memory{}, Now: func() time.Time { return now }}
	if got := n.States(); got != nil {
		t.Errorf("before the first message: %+v", got)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	defer server.Close()
	problem := []Condition{{Key: "k", Title: "title"}}
	if err := errors.Join(n.Update(t.Context(), problem), n.Beat(t.Context(), now, server.URL+"/sesame", true)); err != nil {
		t.Fatal(err)
	}
	got := n.States()
	if len(got) != 3 || got[0] != (ChannelState{"bad", 1, "it answers 500", now}) || got[1] != (ChannelState{Name: "good"}) || got[2].Name != heartbeat || got[2].Since != now || strings.Contains(got[2].Error, "sesame") {
		t.Errorf("one fails: %+v", got)
	}
	failing = false
	n.Retry()
	if err := n.Update(t.Context(), problem); err != nil {
		t.Fatal(err)
	}
	if got := n.States(); len(got) != 2 || got[0] != (ChannelState{Name: "bad"}) {
		t.Errorf("it works again: %+v", got)
	}
}

// titles returns the titles of the messages that came.
func (r *recorded) titles() (titles []string) {
	for _, m := range r.got {
		titles = append(titles, m.Title)
	}
	return titles
}

func down(Message) error { return errors.New("it does not answer") }

// bench is a Notifier whose clock, store and channels a test changes.
type bench struct {
	*testing.T
	*Notifier
	store    *memory
	now      time.Time
	channels []Channel
	log      strings.Builder
}

func newBench(t *testing.T, channels ...Channel) *bench {
	b := &bench{T: t, store: &memory{}, now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), channels: channels}
	b.restart()
	return b
}

// restart begins as a new process does.
func (b *bench) restart() {
	b.Notifier = &Notifier{Channels: func() []Channel { return b.channels }, Store: b.store,
		Now: func() time.Time { return b.now }, Logger: zerolog.New(zerolog.SyncWriter(&b.log))}
}

// update looks a minute later.
func (b *bench) update(now ...Condition) {
	b.Helper()
	b.now = b.now.Add(time.Minute)
	if err := b.Update(b.Context(), now); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) expect(c *recorded, titles ...string) {
	b.Helper()
	if got := c.titles(); !slices.Equal(got, titles) {
		b.Fatalf("%s was told %q, want %q", c.name, got, titles)
	}
}

var (
	ada  = Condition{Key: "account/ada", Title: "ada", Text: "connect it again"}
	disk = Condition{Key: "disk", Title: "disk", Text: "free some space"}
)

// TestEachConditionIsToldOnce follows a condition through restarts and a channel that
// fails: once when it begins, once when it is over.
func TestEachConditionIsToldOnce(t *testing.T) {
	c := &recorded{name: "c", refuse: down}
	b := newBench(t, c)
	for range 2 {
		b.update(ada)
		b.restart()
	}
	b.expect(c)
	c.refuse = nil
	for range 3 {
		b.update(ada)
		b.restart()
	}
	b.expect(c, "ada")
	for range 2 {
		b.update()
		b.restart()
	}
	b.expect(c, "ada", "over: ada")
	if began, end := c.got[0], c.got[1]; began.Kind != Problem || end.Kind != Over || end.Key != ada.Key || end.ID == began.ID {
		t.Errorf("told %+v", c.got)
	}
	fading := ada
	fading.Fading = true
	b.update(fading)
	b.expect(c, "ada", "over: ada")
	b.update(ada)
	b.update(fading)
	b.expect(c, "ada", "over: ada", "ada")
	saves := b.store.saves
	if b.update(ada); b.store.saves != saves {
		t.Error("nothing is new, and the state is written")
	}
}

// TestAFullDiskIsReported cannot save the state, and tells each thing once all the same.
func TestAFullDiskIsReported(t *testing.T) {
	c := &recorded{name: "c"}
	b := newBench(t, c)
	b.store.full = true
	for range 2 {
		if b.Update(t.Context(), []Condition{disk}) == nil {
			t.Error("a state that is not kept is no error")
		}
	}
	b.expect(c, "disk")
	b.store.full = false
	b.update(disk)
	b.restart()
	b.update()
	b.expect(c, "disk", "over: disk")
}

// TestChannelsComeAndGo changes the channels as a reload does.
func TestChannelsComeAndGo(t *testing.T) {
	first, second := &recorded{name: "first", refuse: down}, &recorded{name: "second"}
	b := newBench(t)
	b.update(ada) // for a heartbeat alone: nobody is told
	b.channels = []Channel{first}
	b.update(ada)
	b.channels = []Channel{second} // the first goes with its waiting messages
	b.update(ada)
	b.expect(second, "ada")
	first.refuse, b.channels = nil, []Channel{first, second}
	b.update(disk)
	b.expect(first, "disk")
	b.expect(second, "ada", "disk", "over: ada")
}

// TestManyRefusedMessagesDelayNoOther has a channel that refuses more messages than it may
// at one try.
func TestManyRefusedMessagesDelayNoOther(t *testing.T) {
	c, tries := &recorded{name: "c"}, map[string]int{}
	c.refuse = func(m Message) error {
		if m.Key == disk.Key {
			return nil
		}
		tries[m.Key]++
		return fmt.Errorf("send to c: %w", ErrRefused)
	}
	b := newBench(t, c)
	var all []Condition
	for i := range 2 * maxRefused {
		all = append(all, Condition{Key: fmt.Sprint("account/", i), Title: "account"})
	}
	b.update(all...)
	for range 60 {
		b.update(append(all, disk)...)
	}
	b.expect(c, "disk")
	for _, a := range all {
		if tries[a.Key] < 2 {
			t.Errorf("%s was tried %d times", a.Key, tries[a.Key])
		}
	}
}

// TestARefusedMessageDelaysNoOther has a channel that refuses one message for ever, and is
// given up after a week.
func TestARefusedMessageDelaysNoOther(t *testing.T) {
	c, tries := &recorded{name: "c"}, 0
	c.refuse = func(m Message) error {
		if m.Key == "disk" {
			tries++
			return fmt.Errorf("send to c: %w", ErrRefused)
		}
		return nil
	}
	b := newBench(t, c)
	for range 20 { // until the refused message waits long
		b.update(disk)
	}
	b.update(disk, ada)
	b.expect(c, "ada")
	if got := b.States(); got[0].Error == "" || got[0].Waiting != 1 {
		t.Errorf("while a message is refused: %+v", got)
	}
	for range 8 * 24 * 60 {
		b.update(disk, ada)
	}
	b.expect(c, "ada")
	if tries < 7*24 || tries > 7*24*8 || strings.Count(b.log.String(), "given up") != 1 || strings.Count(b.log.String(), "cannot be told") != 1 {
		t.Errorf("%d tries: %s", tries, &b.log)
	}
}

// TestAChannelWithoutItsRefusedMessageFailsNoMore has a channel that refuses news, which are given
// up after a week.
func TestAChannelWithoutItsRefusedMessageFailsNoMore(t *testing.T) {
	c := &recorded{name: "c", refuse: func(Message) error { return fmt.Errorf("send to c: %w", ErrRefused) }}
	b := newBench(t, c)
	b.run("1")
	b.run("2")
	b.update()
	if got := b.States(); got[0].Error == "" || got[0].Waiting != 1 {
		t.Errorf("while a message is refused: %+v", got)
	}
	for range 8 * 24 * 60 {
		b.update()
	}
	if got := b.States(); got[0] != (ChannelState{Name: "c"}) {
		t.Errorf("once it is given up: %+v", got)
	}
}

// TestASlowChannelDelaysNoOther has a channel that answers only when another one was told.
func TestASlowChannelDelaysNoOther(t *testing.T) {
	arrived := make(chan struct{})
	slow := &recorded{name: "slow", refuse: func(Message) error { <-arrived; return nil }}
	fast := &recorded{name: "fast", refuse: func(Message) error { close(arrived); return nil }}
	b := newBench(t, slow, fast)
	b.update(ada)
	b.expect(slow, "ada")
	b.expect(fast, "ada")
}

// TestTheClockIsSetBack sends on, and calls the heartbeat address, by a clock that was
// ahead.
func TestTheClockIsSetBack(t *testing.T) {
	beats := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { beats++ }))
	defer server.Close()
	c := &recorded{name: "c", refuse: down}
	b := newBench(t, c)
	beat := func() {
		t.Helper()
		if err := b.Beat(t.Context(), b.now, server.URL, true); err != nil {
			t.Fatal(err)
		}
	}
	b.now = b.now.AddDate(1, 0, 0)
	b.update(ada)
	beat()
	beat() // the same success
	b.now = b.now.AddDate(-1, 0, 0)
	c.refuse = nil
	b.update(ada)
	beat()
	b.expect(c, "ada")
	if beats != 2 {
		t.Errorf("%d beats, want 2", beats)
	}
}

// TestAClockThatIsAheadLosesNoCondition gives a message up by a clock that is ahead for one
// look: the condition is reported when the clock is right again.
func TestAClockThatIsAheadLosesNoCondition(t *testing.T) {
	c := &recorded{name: "c", refuse: down}
	b := newBench(t, c)
	b.update(ada)
	b.now = b.now.AddDate(0, 0, 8)
	b.update(ada)
	b.now = b.now.AddDate(0, 0, -8)
	c.refuse = nil
	b.update(ada)
	b.expect(c, "ada")
	b.update()
	b.expect(c, "ada", "over: ada")
}

// TestManyMessagesLoseNoCondition has more accounts fall silent than messages are to wait for
// a channel that fails, and come back, time and again, while a backup fails.
func TestManyMessagesLoseNoCondition(t *testing.T) {
	c := &recorded{name: "c", refuse: down}
	b := newBench(t, c)
	backup := Condition{Key: "upkeep/backup", Title: "backup"}
	all := []Condition{backup}
	for i := range 2 * maxPending {
		all = append(all, Condition{Key: fmt.Sprint("silent/", i), Title: "silent"})
	}
	for range 3 {
		b.update(all...)
		if got := b.States()[0].Waiting; got != len(all) {
			t.Errorf("%d messages wait for %d conditions that last", got, len(all))
		}
		b.update(backup)
	}
	if got := b.States()[0].Waiting; got > maxPending {
		t.Errorf("%d messages wait for one condition that lasts", got)
	}
	if !strings.Contains(b.log.String(), "a message is given up") {
		t.Error("the log says nothing of the messages that are gone")
	}
	b.restart()
	c.refuse = nil
	b.update(backup)
	if got := c.titles(); got[0] != "backup" || slices.Index(got[1:], "backup") >= 0 {
		t.Errorf("told %q", got)
	}
	before := len(c.got)
	b.update(all...)
	if got := len(c.got) - before; got != len(all)-1 {
		t.Errorf("told of %d accounts, want %d", got, len(all)-1)
	}
}

// TestAChannelNamedHeartbeat has a hook with the name of the heartbeat address: neither delays
// the other, and the status has both.
func TestAChannelNamedHeartbeat(t *testing.T) {
	beats, answer := 0, http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		beats++
		w.WriteHeader(answer)
	}))
	defer server.Close()
	c := &recorded{name: heartbeat, refuse: down}
	b := newBench(t, c)
	beat := func() {
		t.Helper()
		b.update(ada)
		if err := b.Beat(t.Context(), b.now, server.URL, true); err != nil {
			t.Fatal(err)
		}
	}
	beat()
	beat()
	if got := b.States(); beats != 2 || len(got) != 1 || got[0].Waiting != 1 || got[0].Error == "" {
		t.Errorf("while the hook fails: %d beats, %+v", beats, got)
	}
	answer, c.refuse = http.StatusInternalServerError, nil
	b.now = b.now.Add(maxPause)
	beat()
	b.expect(c, "ada")
	b.update()
	b.expect(c, "ada", "over: ada")
	if got := b.States(); len(got) != 2 || got[0] != (ChannelState{Name: heartbeat}) || got[1].Name != "heartbeat address" || got[1].Error == "" {
		t.Errorf("while the heartbeat fails: %+v", got)
	}
}
