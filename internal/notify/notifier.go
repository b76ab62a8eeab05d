package notify

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// Condition is something that needs a person for as long as it lasts.
type Condition struct {
	Key   string // identifies it, such as "account/ada"
	Title string
	Text  string
	// Fading says that the condition ends soon: it keeps a reported one from being over, and
	// begins none, so that a value near its bound is not reported again and again.
	Fading bool
}

// Notifier reports every condition once, and once more when it is over, on each channel. A
// channel that fails is tried again at later calls, message by message and in their
// order. It is safe for concurrent use.
type Notifier struct {
	Channels func() []Channel // at present
	Store    Store
	Now      func() time.Time
	Logger   zerolog.Logger

	mu    sync.Mutex     // guards the fields below, and is held while messages are sent
	state *state         // nil before the first call
	saved []byte         // the state as the store has it
	tries map[string]try // of the channels, by name
	beat  try            // of the heartbeat address, which may have the name of a channel

	states atomic.Pointer[[]ChannelState]
}

// The bounds of the messages that wait for a failing channel.
const (
	maxPending = 100                // messages; beyond it, those of conditions that are over go
	maxAge     = 7 * 24 * time.Hour // of a message
	maxPause   = 15 * time.Minute   // between two tries
	maxRefused = 3                  // messages that a channel may refuse at one try
)

// try is how a channel or the heartbeat address failed; zero where it works.
type try struct {
	since   time.Time       // of the first failure
	text    string          // of the last error
	wait    wait            // zero where messages were refused and the channel works
	refused map[string]wait // by the id of the message
}

// wait is the time between two tries, of a channel or of a message that the channel refuses.
type wait struct {
	failures int
	next     time.Time
}

// Update compares the conditions with the reported ones, and sends the differences. Its
// error says that the state cannot be kept; a channel that fails is logged.
func (n *Notifier) Update(ctx context.Context, now []Condition) error {
	return n.change(ctx, func(message maker) {
		for _, q := range n.state.Channels {
			q.update(now, message)
		}
	})
}

// Begin adds a condition to the reported ones, until the next Update without it.
func (n *Notifier) Begin(ctx context.Context, c Condition) error {
	return n.change(ctx, func(message maker) {
		for _, q := range n.state.Channels {
			q.begin(c, message)
		}
	})
}

// Retry makes the next call try every channel, also those that failed a moment ago: they may
// be configured otherwise.
func (n *Notifier) Retry() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, t := range n.tries {
		t.wait.next = time.Time{}
		for id, w := range t.refused {
			t.refused[id] = wait{failures: w.failures}
		}
		n.tries[name] = t
	}
	n.beat = try{} // there may be no address any more
}

// maker makes messages: the same one for every channel.
type maker func(kind Kind, key, title, text string) Message

func (n *Notifier) newMaker() maker {
	type event struct {
		kind Kind
		key  string
	}
	messages := map[event]Message{}
	return func(kind Kind, key, title, text string) Message {
		m, ok := messages[event{kind, key}]
		if !ok {
			m = Message{ID: newID(), Kind: kind, Key: key, Title: title, Text: text, At: n.Now().UTC()}
			messages[event{kind, key}] = m
		}
		return m
	}
}

// change changes the state, saves it and sends the waiting messages. They go also when the state
// cannot be saved, as on a full disk: a person has to know of that too.
func (n *Notifier) change(ctx context.Context, fn func(maker)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.load(ctx); err != nil {
		return err
	}
	channels := n.Channels()
	n.state.follow(channels)
	fn(n.newMaker())
	for name, q := range n.state.Channels {
		q.shorten(func(m Message) { n.logGivenUp(name, m) })
	}
	unsaved := n.save(ctx)
	var sending sync.WaitGroup
	var saving sync.Mutex // guards unsaved and the state, of which each channel changes its queue
	for _, c := range channels {
		sending.Go(func() {
			n.flush(ctx, c, func(sent Message) {
				saving.Lock()
				defer saving.Unlock()
				n.state.Channels[c.Name()].remove(sent.ID)
				unsaved = n.save(context.WithoutCancel(ctx)) // it is sent, also when the program stops now
			}, &saving)
		})
	}
	sending.Wait()
	n.publish()
	return unsaved
}

// flush sends the messages that wait for a channel, those that it has refused before at
// last. done removes a message.
func (n *Notifier) flush(ctx context.Context, c Channel, done func(Message), guard sync.Locker) {
	guard.Lock()
	waiting, before := slices.Clone(n.state.Channels[c.Name()].Pending), n.tries[c.Name()]
	if len(waiting) == 0 && before.wait.failures == 0 {
		delete(n.tries, c.Name()) // the refused messages were given up, or have gone for later ones
	}
	guard.Unlock()
	refused := map[string]wait{}
	for _, m := range waiting {
		if w, ok := before.refused[m.ID]; ok {
			refused[m.ID] = w
		}
	}
	waiting = slices.DeleteFunc(waiting, func(m Message) bool { return !n.isOver(refused[m.ID]) })
	if len(waiting) == 0 || !n.isOver(before.wait) {
		return
	}
	slices.SortStableFunc(waiting, func(a, b Message) int { return refused[a.ID].next.Compare(refused[b.ID].next) })
	var failure error
	var pause wait
	sent := false
	for tried := 0; len(waiting) > 0 && tried < maxRefused && pause.failures == 0; waiting = waiting[1:] {
		m := waiting[0]
		if n.Now().Sub(m.At) > maxAge {
			n.logGivenUp(c.Name(), m)
			delete(refused, m.ID)
			guard.Lock()
			n.state.Channels[c.Name()].giveUp(m)
			guard.Unlock()
			done(m)
			continue
		}
		switch err := c.Send(ctx, m); {
		case err == nil:
			n.Logger.Info().Str("channel", c.Name()).Str("key", m.Key).Msg("a person is told")
			sent = true
			delete(refused, m.ID)
			done(m)
		case errors.Is(err, ErrRefused):
			failure, tried = err, tried+1
			refused[m.ID] = n.lengthen(refused[m.ID])
		default:
			failure, pause = err, n.lengthen(before.wait)
		}
	}
	if failure == nil && !sent {
		return // messages were given up: nobody knows whether the channel works
	}
	guard.Lock()
	defer guard.Unlock()
	n.tries[c.Name()] = n.note(ctx, c.Name(), before, failure, pause, refused)
}

func (n *Notifier) logGivenUp(channel string, m Message) {
	n.Logger.Warn().Str("channel", channel).Str("key", m.Key).Msg("a message is given up")
}

// isOver reports whether a channel or a message may be tried now.
func (n *Notifier) isOver(w wait) bool {
	left := w.next.Sub(n.Now())
	return left <= 0 || left > maxPause // the clock was set back
}

// lengthen returns the time that follows another failure.
func (n *Notifier) lengthen(w wait) wait {
	pause := min(time.Minute<<min(w.failures, 10), maxPause)
	return wait{w.failures + 1, n.Now().Add(pause - time.Second)}
}

// note returns how a try ended that followed t, and logs it when it ended otherwise. A
// channel fails as long as a message waits that it has refused.
func (n *Notifier) note(ctx context.Context, name string, t try, err error, pause wait, refused map[string]wait) try {
	if ctx.Err() != nil {
		return t
	}
	failed := !t.since.IsZero()
	if err == nil && len(refused) == 0 {
		if failed {
			n.Logger.Info().Str("channel", name).Msg("the channel works again")
		}
		return try{}
	}
	if !failed {
		t.since = n.Now()
	}
	if err != nil && t.text != err.Error() {
		n.Logger.Warn().Err(err).Str("channel", name).Msg("a person cannot be told; it is tried again")
		t.text = err.Error()
	}
	t.wait, t.refused = pause, refused
	return t
}

// ChangeVersion notes the version that runs, and sends the news of it where another one ran
// before.
func (n *Notifier) ChangeVersion(ctx context.Context, version string, describe func(earlier string) (text string)) error {
	return n.change(ctx, func(message maker) {
		earlier := n.state.Version
		if n.state.Version = version; earlier == "" || earlier == version {
			return
		}
		for _, q := range n.state.Channels {
			q.add(message(News, "version", "version "+version+" runs", describe(earlier)))
		}
	})
}

// heartbeat names the heartbeat address beside the channels.
const heartbeat = "heartbeat"

// Beat calls the heartbeat address once for each full success. A success that is dated
// before the last one counts too: the clock was set back.
func (n *Notifier) Beat(ctx context.Context, success time.Time, address string, allowPrivate bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.load(ctx); err != nil || success.IsZero() || success.Equal(n.state.Beat) || !n.isOver(n.beat.wait) {
		return err
	}
	err := callHeartbeat(ctx, address, allowPrivate)
	n.beat = n.note(ctx, heartbeat, n.beat, err, n.lengthen(n.beat.wait), nil)
	n.publish()
	if err != nil {
		return nil
	}
	n.state.Beat = success
	return n.save(ctx)
}
