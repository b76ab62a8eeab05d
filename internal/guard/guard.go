// Package guard turns a panic in a piece of work, such as an unforeseen answer of the
// service or a damaged file causes, into the failure of that piece alone.
//
// It promises that every such panic is logged with its stack. It keeps no state.
package guard

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/rs/zerolog"
)

// ErrPanic is the error of work that panicked.
var ErrPanic = errors.New("panic")

// Run calls work. If work panics, Run logs the stack under the work's name and returns
// [ErrPanic] with the value of the panic. Goroutines that work begins need a Run of their
// own.
func Run(log zerolog.Logger, name string, work func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", ErrPanic, v)
			log.Error().Str("work", name).Str("panic", fmt.Sprint(v)).Bytes("stack", debug.Stack()).Msg("work panicked")
		}
	}()
	return work()
}
