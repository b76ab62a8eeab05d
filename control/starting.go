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

// Socket answers the commands for a data directory from when it is open. Its Starting refuses
// them until the operations are there: to open an archive may take minutes.
type Socket struct {
	Starting
	end   context.CancelFunc
	ended chan struct{}
	err   error // of Serve, once ended is closed
}

// OpenSocket opens the socket of a data directory, which this process has locked, and answers
// there until ctx ends or Close.
func OpenSocket(ctx context.Context, dataDir string) (*Socket, error) {
	l, err := Listen(dataDir)
	if err != nil {
		return nil, err
	}
	s := &Socket{ended: make(chan struct{})}
	ctx, s.end = context.WithCancel(ctx)
	go func() {
		defer close(s.ended)
		s.err = Serve(ctx, l, &s.Starting)
	}()
	return s, nil
}

// Run returns when the socket cannot go on, or when ctx has ended and the last operation with it.
func (s *Socket) Run(ctx context.Context) error {
	defer context.AfterFunc(ctx, s.end)()
	<-s.ended
	return s.err
}

// Close cancels the running operations and returns when the last one has ended.
func (s *Socket) Close() {
	s.end()
	<-s.ended
}

// Call implements Caller.
func (s *Starting) Call(ctx context.Context, name string, request json.RawMessage, onEvent func(json.RawMessage) error) (json.RawMessage, error) {
	if r := s.ready.Load(); r != nil {
		return r.Call(ctx, name, request, onEvent)
	}
	return nil, asError(errStarting)
}
