package control

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
)

// Starting is the Caller of a process that owns its data directory. It refuses every
// operation until Ready, and then runs those of the last Ready: a process that loads
// its configuration again has others. The zero value is useful.
type Starting struct {
	ready atomic.Pointer[Registry]
}

// errStarting is the answer until Ready.
var errStarting = errors.New("it is still starting; give the command again when it has printed its address")

// Ready lets the operations of r run from now on.
func (s *Starting) Ready(r *Registry) { s.ready.Store(r) }

// Call implements Caller.
func (s *Starting) Call(ctx context.Context, name string, request json.RawMessage, onEvent func(json.RawMessage) error) (json.RawMessage, error) {
	if r := s.ready.Load(); r != nil {
		return r.Call(ctx, name, request, onEvent)
	}
	return nil, asError(errStarting)
}
