package notify

import (
	"bytes"
	"context"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// Store keeps the state of a [Notifier].
type Store interface {
	Load(ctx context.Context) ([]byte, error) // nil: none yet
	Save(ctx context.Context, state []byte) error
}

// state is the memory of a Notifier across restarts.
type state struct {
	Channels map[string]*queue `json:"channels"` // by name
	Beat     time.Time         `json:"beat,omitzero"`
	Version  string            `json:"version,omitempty"`
}

// queue has the conditions that a channel was told, and the messages that wait for it.
type queue struct {
	Told    map[string]Message `json:"told"` // the conditions that last, by key
	Pending []Message          `json:"pending"`
}

// follow makes queues for new channels and drops those of channels that are no more.
func (s *state) follow(channels []Channel) {
	present := map[string]*queue{}
	for _, c := range channels {
		q := s.Channels[c.Name()]
		if q == nil {
			q = &queue{Told: map[string]Message{}}
		}
		present[c.Name()] = q
	}
	s.Channels = present
}

// update adds the messages of conditions that began and that are over.
func (q *queue) update(now []Condition, message maker) error {
	lasts := map[string]bool{}
	for _, c := range now {
		lasts[c.Key] = true
		if err := q.begin(c, message); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(q.Told)) {
		if lasts[key] {
			continue
		}
		began := q.Told[key]
		m, err := message(Over, key, "over: "+began.Title, fmt.Sprintf("It began at %s and is over.\n\n%s", began.At.UTC().Format(time.DateTime), began.Text))
		if err != nil {
			return err
		}
		delete(q.Told, key)
		q.add(m)
	}
	return nil
}

// begin adds the message of a condition that was not told.
func (q *queue) begin(c Condition, message maker) error {
	if _, told := q.Told[c.Key]; told {
		return nil
	}
	m, err := message(Problem, c.Key, c.Title, c.Text)
	if err != nil {
		return err
	}
	q.Told[c.Key] = m
	q.add(m)
	return nil
}

// add appends a message. The oldest goes where there are too many.
func (q *queue) add(m Message) {
	q.Pending = append(q.Pending, m)
	q.Pending = q.Pending[max(0, len(q.Pending)-maxPending):]
}

func (q *queue) remove(id string) {
	q.Pending = slices.DeleteFunc(q.Pending, func(m Message) bool { return m.ID == id })
}

// load reads the state, at the first call only: a change that could not be saved is remembered.
func (n *Notifier) load(ctx context.Context) error {
	if n.state != nil {
		return nil
	}
	s := &state{}
	raw, err := n.Store.Load(ctx)
	if err == nil && raw != nil {
		err = json.Unmarshal(raw, s)
	}
	if err != nil {
		return fmt.Errorf("read the state of notifications: %w", err)
	}
	for _, q := range s.Channels {
		if q.Told == nil {
			q.Told = map[string]Message{}
		}
	}
	n.state, n.saved, n.tries = s, raw, map[string]try{}
	return nil
}

// save saves the state if it differs from that in the store.
func (n *Notifier) save(ctx context.Context) error {
	raw, err := json.Marshal(n.state)
	if err == nil && bytes.Equal(raw, n.saved) {
		return nil
	}
	if err == nil {
		err = n.Store.Save(ctx, raw)
	}
	if err != nil {
		return fmt.Errorf("keep the state of notifications: %w", err)
	}
	n.saved = raw
	return nil
}

// newID returns the id of a message.
func newID(random io.Reader) (string, error) {
	raw := make([]byte, 15)
	if _, err := io.ReadFull(random, raw); err != nil {
		return "", fmt.Errorf("make the id of a message: %w", err)
	}
	return "msg_" + base32.StdEncoding.EncodeToString(raw), nil
}
