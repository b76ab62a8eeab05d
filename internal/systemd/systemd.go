// Package systemd speaks with the service manager that started the program: sockets
// that it has opened, its notifications and its watchdog. Started otherwise, nothing of
// it does anything.
package systemd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"

	"minutebook/internal/pause"
)

// Names of the sockets (FileDescriptorName= of their units).
const (
	PageSocket     = "page"
	ReceiverSocket = "receiver"
)

// Listeners returns the sockets that were handed over, by their names. It fails for a
// socket of another name and for a second one of a name: a program that left them
// would let connections wait for ever.
func Listeners() (map[string]net.Listener, error) {
	named, err := activation.ListenersWithNames()
	if err != nil {
		return nil, fmt.Errorf("take the sockets of systemd: %w", err)
	}
	sockets := map[string]net.Listener{}
	for name, all := range named {
		if name != PageSocket && name != ReceiverSocket {
			return nil, fmt.Errorf("take the sockets of systemd: %q is neither page nor receiver; set FileDescriptorName= of the socket unit", name)
		}
		if len(all) != 1 {
			return nil, fmt.Errorf("take the sockets of systemd: there are %d named %s; use one ListenStream=", len(all), name)
		}
		sockets[name] = all[0]
	}
	return sockets, nil
}

// Ready says that the program answers, and reports whether a manager listens.
func Ready() bool { return notify(daemon.SdNotifyReady) }

// Stopping says that the program ends.
func Stopping() bool { return notify(daemon.SdNotifyStopping) }

// notify sends a state. That nobody takes it is no reason to end.
func notify(state string) bool {
	sent, err := daemon.SdNotify(false, state)
	return sent && err == nil
}

// errSilent is the error while healthy has not returned for a third of the watchdog's time.
var errSilent = errors.New("no answer yet")

// RunWatchdog tells the watchdog that the program lives each time that healthy returns no
// error, until ctx ends. Without a watchdog it returns at once. healthy is called again a
// third of the watchdog's time after it has returned, and may take the rest, since a busy
// program lives too. report is called with the first error of several in a row. Whether a
// call that hangs returns when ctx ends is not waited for.
func RunWatchdog(ctx context.Context, healthy func(context.Context) error, report func(error)) {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil || interval == 0 {
		return
	}
	failing := false
	note := func(err error) {
		if err == nil {
			notify(daemon.SdNotifyWatchdog)
		} else if !failing && ctx.Err() == nil {
			report(err)
		}
		failing = err != nil
	}
	for ctx.Err() == nil {
		answer := make(chan error, 1)
		go func() { answer <- healthy(ctx) }()
		select {
		case err := <-answer:
			note(err)
		case <-time.After(interval / 3):
			note(errSilent)
			select {
			case err := <-answer:
				note(err)
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
		_ = pause.For(ctx, interval/3)
	}
}
