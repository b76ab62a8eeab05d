package years

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/control"
	"minutebook/search"
)

// idleIndex is an index that is closed: the status tells that it has nothing. The first call is
// outside virtual time.
var idleIndex = sync.OnceValues(func() (*search.Index, error) {
	dir, err := os.MkdirTemp("", "index")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	ar, err := archive.Open(ctx, archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		return nil, err
	}
	defer ar.Close()
	index, err := search.Open(ctx, search.Options{Archive: ar, Logger: zerolog.Nop()})
	if err != nil {
		return nil, err
	}
	return index, index.Close()
})

// watched passes commands on, and looks for secrets in their answers, events and errors. None of
// the commands that the simulation gives answers with a secret.
type watched struct {
	w      *world
	caller control.Caller
}

// Call gives a command.
func (c watched) Call(ctx context.Context, name string, request json.RawMessage, onEvent func(json.RawMessage) error) (json.RawMessage, error) {
	answer, err := c.caller.Call(ctx, name, request, func(event json.RawMessage) error {
		c.w.lookForSecrets("an event of "+name, event)
		return onEvent(event)
	})
	c.w.lookForSecrets("the answer of "+name, answer)
	if err != nil {
		c.w.lookForSecrets("an error of "+name, []byte(err.Error()))
	}
	return answer, err
}

// lookForSecrets looks for secrets in a text that the program shows, or writes to its log.
func (w *world) lookForSecrets(where string, text []byte) {
	for _, s := range w.unloggable() {
		if bytes.Contains(text, []byte(s)) {
			w.report("a secret is in %s: %s", where, text)
		}
	}
}

// checkShown looks for secrets in the status, in the messages that people are sent about it, and in
// the metrics.
func (w *world) checkShown() {
	h := w.house
	status, err := command[control.StatusResult](h.life, h, "status", control.StatusRequest{}, nil)
	if h.dead.Load() { // it was to die at the commit that this look makes
		return
	}
	w.must(err, "read the status")
	for _, c := range status.Conditions(w.now(), firstDay) {
		w.lookForSecrets("a message", []byte(c.Title+"\n"+c.Text))
	}
	metrics := prometheus.NewRegistry()
	w.must(control.RegisterMetrics(metrics, "simulated", h.deps().Observe, w.logger), "register the metrics")
	families, err := metrics.Gather()
	w.must(err, "gather the metrics")
	for _, f := range families {
		w.lookForSecrets("the metrics", []byte(f.String()))
	}
}
