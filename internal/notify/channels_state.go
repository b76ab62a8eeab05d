package notify

import (
	"cmp"
	"slices"
	"time"
)

// ChannelState says how a channel, or the heartbeat address, is doing.
type ChannelState struct {
	Name    string    `json:"name"`
	Waiting int       `json:"waiting"`         // messages
	Error   string    `json:"error,omitempty"` // of the last try; "": it works
	Since   time.Time `json:"since,omitzero"`  // of the first failure
}

// States returns the states of the channels. It waits for no channel that is being tried.
func (n *Notifier) States() []ChannelState {
	if states := n.states.Load(); states != nil {
		return *states
	}
	return nil
}

// publish makes the present states those that States returns. The caller holds mu.
func (n *Notifier) publish() {
	var states []ChannelState
	for name, q := range n.state.Channels {
		t := n.tries[name]
		states = append(states, ChannelState{name, len(q.Pending), t.text, t.since})
	}
	if t := n.beat; !t.since.IsZero() {
		name := heartbeat
		if n.state.Channels[name] != nil {
			name += " address"
		}
		states = append(states, ChannelState{Name: name, Error: t.text, Since: t.since})
	}
	slices.SortFunc(states, func(a, b ChannelState) int { return cmp.Compare(a.Name, b.Name) })
	n.states.Store(&states)
}
