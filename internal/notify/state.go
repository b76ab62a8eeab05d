package notify

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"fmt"
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

// queue has the conditions that were reported on a channel, and the messages that wait for it.
type queue struct {
	Reported map[string]Message `json:"told"` // the conditions that last, by key
	Pending  []Message          `json:"pending"`
}

// follow makes queues for new channels and drops those of channels that are no more.
func (s *state) follow(channels []Channel) {
	present := map[string]*queue{}
	for _, c := range channels {
		q := s.Channels[c.Name()]
		if q == nil {
			q = &queue{Reported: map[string]Message{}}
		}
		present[c.Name()] = q
	}
	s.Channels = present
}

// update adds the messages of conditions that began and that are over.
func (q *queue) update(now []Condition, message maker) {
	lasts := map[string]bool{}
	for _, c := range now {
		lasts[c.Key] = true
		if !c.Fading {
			q.begin(c, message)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(q.Reported)) {
		if lasts[key] {
			continue
		}
		began := q.Reported[key]
		delete(q.Reported, key)
		q.add(message(Over, key, "over: "+began.Title, fmt.Sprintf("It began at %s and is over.\n\n%s", began.At.UTC().Format(time.DateTime), began.Text)))
	}
}

// begin adds the message of a condition that is not reported yet.
func (q *queue) begin(c Condition, message maker) {
	if _, reported := q.Reported[c.Key]; reported {
		return
	}
	m := message(Problem, c.Key, c.Title, c.Text)
	q.Reported[c.Key] = m
	q.add(m)
}

func (q *queue) add(m Message) { q.Pending = append(q.Pending, m) }

// shorten drops messages of which too many wait, the oldest first: only the two of a
// condition that began and is over, since nobody would hear of one that lasts.
func (q *queue) shorten(drop func(Message)) {
	for i := 0; i < len(q.Pending) && len(q.Pending) > maxPending; {
		began := q.Pending[i]
		end := slices.IndexFunc(q.Pending[i:], func(m Message) bool { return m.Kind == Over && m.Key == began.Key })
		if began.Kind != Problem || end < 0 {
			i++
			continue
		}
		q.Pending = slices.Delete(q.Pending, i+end, i+end+1)
		q.Pending = slices.Delete(q.Pending, i, i+1)
		drop(began)
	}
}

func (q *queue) remove(id string) {
	q.Pending = slices.DeleteFunc(q.Pending, func(m Message) bool { return m.ID == id })
}

// giveUp lets the condition of a message that nobody got be reported anew: the clock may
// have been ahead.
func (q *queue) giveUp(m Message) {
	if q.Reported[m.Key].ID == m.ID {
		delete(q.Reported, m.Key)
	}
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
		if q.Reported == nil {
			q.Reported = map[string]Message{}
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
func newID() string {
	raw := make([]byte, 15)
	rand.Read(raw) // never fails
	return "msg_" + base32.StdEncoding.EncodeToString(raw)
}
