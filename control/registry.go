package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"minutebook/archive"
	"minutebook/internal/nearest"
	"minutebook/internal/phrase"
	"minutebook/internal/sqlite"
	"minutebook/web/access"
)

// Emit reports one event of a running operation to its caller. It fails when the
// caller has gone.
type Emit func(event any) error

// Caller runs operations by name: a Registry in this process, a Client in
// another one.
type Caller interface {
	// Call runs the operation, passes each event to onEvent (nil: they are
	// dropped) and returns the result. It fails with an *[Error] when the
	// operation fails.
	Call(ctx context.Context, name string, request json.RawMessage, onEvent func(json.RawMessage) error) (json.RawMessage, error)
}

// Call runs one operation with typed request and result.
func Call[R any](ctx context.Context, c Caller, name string, request any, onEvent func(json.RawMessage) error) (R, error) {
	var result R
	raw, err := json.Marshal(request)
	if err != nil {
		return result, fmt.Errorf("encode request of %s: %w", name, err)
	}
	raw, err = c.Call(ctx, name, raw, onEvent)
	if err != nil {
		return result, err
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return result, fmt.Errorf("decode result of %s: %w", name, err)
	}
	return result, nil
}

// Registry has the operations of one process. It is filled before its first use
// and only read afterwards.
type Registry struct {
	operations map[string]operation
}

type operation func(ctx context.Context, request json.RawMessage, emit Emit) (any, error)

// NewRegistry returns an empty registry.
func NewRegistry() *Registry { return &Registry{operations: map[string]operation{}} }

// Register adds an operation. It panics when the name is taken, since that is a
// mistake in the program.
func Register[Q, R any](r *Registry, name string, run func(context.Context, Q, Emit) (R, error)) {
	if _, taken := r.operations[name]; taken {
		panic("control: operation " + name + " is registered twice")
	}
	r.operations[name] = func(ctx context.Context, raw json.RawMessage, emit Emit) (any, error) {
		var request Q
		if err := json.Unmarshal(raw, &request); err != nil {
			return nil, fmt.Errorf("decode request of %s: %w", name, err)
		}
		return run(ctx, request, emit)
	}
}

// Names lists the operations in alphabetical order.
func (r *Registry) Names() []string {
	var names []string
	for name := range r.operations {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Call runs an operation in this process.
func (r *Registry) Call(ctx context.Context, name string, request json.RawMessage, onEvent func(json.RawMessage) error) (json.RawMessage, error) {
	run, ok := r.operations[name]
	if !ok {
		return nil, &Error{Kind: KindUnknown, Message: fmt.Sprintf("run %s: the process that runs on this data directory cannot do it: stop it, and run the command again", name)}
	}
	emit := func(event any) error {
		if onEvent == nil {
			return nil
		}
		raw, err := json.Marshal(event)
		if err != nil {
			return fmt.Errorf("encode event of %s: %w", name, err)
		}
		return onEvent(raw)
	}
	result, err := run(ctx, request, emit)
	if err != nil {
		return nil, asError(err)
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("encode result of %s: %w", name, err)
	}
	return raw, nil
}

// Kind is the sort of failure of an [Error].
type Kind string

// The kinds of failure that a command answers differently.
const (
	KindFailed   Kind = "failed"    // anything else
	KindUnknown  Kind = "unknown"   // no such operation here
	KindNotFound Kind = "not_found" // no such meeting
	KindQuery    Kind = "query"     // the query does not parse, or the cursor is not of this search
	KindCanceled Kind = "canceled"  // the caller went away
	KindEnded    Kind = "ended"     // it gave way to another operation, and is still due
)

// Error is an operation's failure as it crosses the socket.
type Error struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	// ExitCode is the exit code of the command; zero means the usual 1.
	ExitCode int `json:"exit_code,omitempty"`
}

// Error returns the message alone.
func (e *Error) Error() string { return e.Message }

// The exit codes of a command line or configuration that makes no sense, and of a program
// that is too old for the data directory, which no further try changes.
const (
	misuseCode = 2
	NewerCode  = 6
)

// ExitCode returns the exit code of an error that has one of its own, 0 for any other.
func ExitCode(err error) int {
	_, misused := errors.AsType[*nearest.UnknownError](err)
	switch {
	case errors.Is(err, archive.ErrDamaged):
		return archive.DamageDatabase.ExitCode()
	case errors.Is(err, sqlite.ErrNewer):
		return NewerCode
	case misused, errors.Is(err, access.ErrAddress), errors.Is(err, archive.ErrForeignFiles):
		return misuseCode
	}
	return 0
}

// asError returns err in the form in which it crosses the socket. It is the same
// with and without a daemon.
func asError(err error) *Error {
	if already, ok := errors.AsType[*Error](err); ok {
		return already
	}
	e := &Error{Kind: KindFailed, Message: phrase.Error(err)}
	e.ExitCode = ExitCode(err)
	switch {
	case errors.Is(err, archive.ErrNotFound), errors.Is(err, archive.ErrForgotten):
		e.Kind = KindNotFound
	case errors.Is(err, archive.ErrForgottenMeanwhile):
		e.Kind = KindEnded
	case errors.Is(err, context.Canceled):
		e.Kind = KindCanceled
		e.Message = strings.ReplaceAll(e.Message, context.Canceled.Error(), "it was stopped")
	}
	return e
}
