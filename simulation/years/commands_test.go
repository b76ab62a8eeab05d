package years

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"minutebook/archive/notes"
	"minutebook/config"
	"minutebook/control"
	"minutebook/search"
	"minutebook/service"
	syncer "minutebook/sync"
	"minutebook/web/access"
)

// errNoIndex stands for the index, which cannot run in virtual time, where a command
// reads it.
var errNoIndex = errors.New("there is no index in virtual time")

// deps are the things on which commands work, as the daemon has them.
func (h *house) deps() control.Deps {
	w := h.w
	return control.Deps{Archive: h.archive, Running: true, Activities: &h.activities, Location: time.UTC, Logger: w.logger,
		Syncer:        func(context.Context) (*syncer.Syncer, error) { return h.sync, nil },
		Access:        func(context.Context) (*access.DB, error) { return h.access, nil },
		Notes:         func(context.Context) (*notes.DB, error) { return h.notes, nil },
		Index:         func(context.Context) (*search.Index, error) { return nil, nil }, // to have it erase meetings
		IndexState:    func(context.Context) (*search.Index, error) { return idleIndex() },
		Service:       h.openIdle,
		Web:           config.Web{Access: config.AccessPeople, PublicURL: "https://minutes.test"},
		Configuration: control.Configuration{Path: "config.toml"}, Retention: w.rules(), Recipients: w.recipients(), Proof: control.Proof{From: w.backupDir(), Identity: w.identity()},
		Webhooks: control.Webhooks{Archive: h.archive, Now: w.now}}
}

// openIdle returns the archive's own service, which need not be configured.
func (h *house) openIdle(ctx context.Context) (*service.Service, error) {
	if h.service != nil {
		return h.service, nil
	}
	err := h.opening.Acquire(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer h.opening.Release(1)
	if h.idle == nil {
		h.idle, err = h.newService(ctx)
	}
	return h.idle, err
}

// openSides opens the databases of people and of notes, as the daemon does.
func (h *house) openSides(ctx context.Context) {
	var err error
	h.access, err = access.Open(ctx, access.Options{Archive: h.archive, Now: h.w.now, Logger: h.w.logger})
	h.w.must(err, "open the database of people")
	h.notes, err = notes.Open(ctx, notes.Options{Archive: h.archive})
	h.w.must(err, "open the database of notes")
}

// command has the daemon do what a person at the keyboard, or a schedule, asks for.
func command[R any](ctx context.Context, h *house, name string, request any, each func(event json.RawMessage)) (R, error) {
	d := h.deps()
	if name == "verify" {
		d.Index = func(context.Context) (*search.Index, error) { return nil, errNoIndex }
	}
	return control.Call[R](ctx, watched{h.w, control.Operations(d)}, name, request, func(event json.RawMessage) error {
		if each != nil {
			each(event)
		}
		return nil
	})
}

// isMissing reports whether a command failed since the archive does not have the meeting.
func isMissing(err error) bool {
	e, ok := errors.AsType[*control.Error](err)
	return ok && e.Kind == control.KindNotFound
}

// syncNow has an account read now, whatever the schedule does.
func (w *world) syncNow(g *rand.Rand) {
	h := w.house
	if h == nil || h.dead.Load() {
		return
	}
	q := syncer.Request{Account: w.config.accounts[g.IntN(len(w.config.accounts))].name, Full: g.IntN(2) == 0}
	w.journal.note("a person has %s read", q.Account)
	h.work.Go(func() { _, _ = command[control.SyncResult](h.life, h, "sync", q, nil) }) // the oracle judges the archive
}
