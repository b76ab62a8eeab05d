package notify

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rs/zerolog"
)

// Condition is something that needs a person for as long as it lasts.
type Condition struct {
	Key   string // identifies it, such as "account/ada"
	Title string
	Text  string
}

// Store keeps the state of a [Notifier].
type Store interface {
	Load(ctx context.Context) ([]byte, error) // nil: none yet
	Save(ctx context.Context, state []byte) error
}

// Notifier tells every condition once, and once more when it is over. A channel that
// fails is tried again at the next call, message by message and in their order.
type Notifier struct {
	Channels func() []Channel // at present
	Store    Store
	Now      func() time.Time
	Logger   zerolog.Logger
}

// state is a Notifier's memory across restarts.
type state struct {
	Open    map[string]Message   `json:"open"`    // the conditions that were told, by key
	Pending map[string][]Message `json:"pending"` // by channel
	Beat    time.Time            `json:"beat,omitzero"`
	Version string               `json:"version,omitempty"`
}

// maxPending is the number of messages that wait for a channel; older ones go.
const maxPending = 100

// Update compares the conditions with those already reported, and sends the new ones.
func (n *Notifier) Update(ctx context.Context, now []Condition) error {
	return n.change(ctx, func(s *state, add func(Message)) {
		current := map[string]bool{}
		for _, c := range now {
			current[c.Key] = true
			if _, told := s.Open[c.Key]; told {
				continue
			}
			m := n.message(Problem, c.Key, c.Title, c.Text)
			s.Open[c.Key] = m
			add(m)
		}
		for _, key := range slices.Sorted(maps.Keys(s.Open)) {
			if !current[key] {
				began := s.Open[key]
				delete(s.Open, key)
				add(n.message(Over, key, "over: "+began.Title, fmt.Sprintf("It began at %s and is over.\n\n%s", began.At.UTC().Format(time.DateTime), began.Text)))
			}
		}
	})
}

// Announce tells news once.
func (n *Notifier) Announce(ctx context.Context, key, title, text string) error {
	return n.change(ctx, func(_ *state, add func(Message)) { add(n.message(News, key, title, text)) })
}

func (n *Notifier) message(kind Kind, key, title, text string) Message {
	return Message{ID: "msg_" + rand.Text(), Kind: kind, Key: key, Title: title, Text: text, At: n.Now().UTC()}
}

// change changes the state, adds messages for every channel, saves it and sends the
// waiting ones.
func (n *Notifier) change(ctx context.Context, fn func(s *state, add func(Message))) error {
	s, err := n.load(ctx)
	if err != nil {
		return err
	}
	channels, changed := n.Channels(), false
	fn(s, func(m Message) {
		changed = true
		for _, c := range channels {
			queue := append(s.Pending[c.Name()], m)
			s.Pending[c.Name()] = queue[max(0, len(queue)-maxPending):]
		}
	})
	if changed {
		if err := n.save(ctx, s); err != nil {
			return err
		}
	}
	var failures []error
	for _, c := range channels {
		for len(s.Pending[c.Name()]) > 0 {
			if err := c.Send(ctx, s.Pending[c.Name()][0]); err != nil {
				failures = append(failures, err)
				break
			}
			n.Logger.Info().Str("channel", c.Name()).Str("key", s.Pending[c.Name()][0].Key).Msg("a person is told")
			s.Pending[c.Name()] = s.Pending[c.Name()][1:]
			if err := n.save(ctx, s); err != nil {
				return err
			}
		}
	}
	return errors.Join(failures...)
}

func (n *Notifier) load(ctx context.Context) (*state, error) {
	s := &state{}
	raw, err := n.Store.Load(ctx)
	if err == nil && raw != nil {
		err = json.Unmarshal(raw, s)
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of notifications: %w", err)
	}
	if s.Open == nil {
		s.Open = map[string]Message{}
	}
	if s.Pending == nil {
		s.Pending = map[string][]Message{}
	}
	return s, nil
}

func (n *Notifier) save(ctx context.Context, s *state) error {
	raw, err := json.Marshal(s)
	if err == nil {
		err = n.Store.Save(ctx, raw)
	}
	if err != nil {
		return fmt.Errorf("keep the state of notifications: %w", err)
	}
	return nil
}

// ToldVersion notes the version that runs and reports whether an earlier one ran before.
func (n *Notifier) ToldVersion(ctx context.Context, version string) (earlier string, err error) {
	s, err := n.load(ctx)
	if err != nil || s.Version == version {
		return "", err
	}
	earlier, s.Version = s.Version, version
	return earlier, n.save(ctx, s)
}

// BeatOnce calls the heartbeat address once for each full success.
func (n *Notifier) BeatOnce(ctx context.Context, success time.Time, address string, allowPrivate bool) error {
	s, err := n.load(ctx)
	if err != nil || !success.After(s.Beat) {
		return err
	}
	if err := Beat(ctx, address, allowPrivate); err != nil {
		return err
	}
	s.Beat = success
	return n.save(ctx, s)
}
