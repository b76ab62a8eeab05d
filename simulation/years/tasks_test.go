package years

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/archive/backup"
	"minutebook/archive/inbox"
	"minutebook/control"
)

// task is a command that a person gives. The driver makes and judges it; run may be another
// goroutine's.
type task struct {
	name  string
	run   func(context.Context) error
	judge func(error) // not where the command was refused
	// beside is the command that runs at the same time; "": none.
	beside string
}

// do gives a command, and judges its answer. There is none where the command makes no sense.
func do(t *task) {
	if t != nil {
		t.judge(t.run(context.Background()))
	}
}

// forget erases a meeting for good.
func (w *world) forget(g *rand.Rand) { do(w.toForget(g)) }

func (w *world) toForget(g *rand.Rand) *task {
	m := w.anyMeeting(g, false)
	h := w.house
	if m == nil || h == nil || h.isSick() || w.oracle.forgot[m.id] {
		return nil
	}
	return &task{name: "forget", run: func(ctx context.Context) error {
		_, err := command[archive.Forgotten](ctx, h, "forget", control.ForgetRequest{RecordingID: m.id, Reason: "simulated"}, nil)
		return err
	}, judge: func(err error) {
		if isMissing(err) {
			return
		}
		if h.dead.Load() || w.isExcused(err) { // it is finished later, where it was begun
			w.journal.note("%d is perhaps forgotten", m.id)
			w.forgetting[m.id] = time.Now()
			return
		}
		w.must(err, "forget")
		w.journal.note("%d is forgotten", m.id)
		w.oracle.forget(m.id)
		w.forgotAt[m.id] = time.Now()
		delete(w.forgetting, m.id) // an earlier try, which a kill ended, forgot nothing
		w.checkForgotten(m.id)
	}}
}

func (w *world) backUp(g *rand.Rand) { do(w.toBackUp(g)) }

func (w *world) toBackUp(*rand.Rand) *task {
	h := w.house
	if h == nil || h.isSick() {
		return nil
	}
	memory, at, dir := w.oracle.remember(), time.Now(), w.backupDir()
	var r backup.Result
	return &task{name: "backup", run: func(ctx context.Context) (err error) {
		r, err = command[backup.Result](ctx, h, "backup", control.BackupRequest{Destination: dir, Keep: 4}, nil)
		return err
	}, judge: func(err error) {
		if !h.dead.Load() && !w.isExcused(err) {
			w.must(err, "back up")
			w.journal.note("backup %s", r.Generation)
			made := backupDone{dir, r.Generation, filepath.Join(dir, r.Generation), at, memory}
			w.checkSealed(made.dir)
			w.checkUseless(made)
			w.backups = append(w.backups, made)
		}
		w.backups = slices.DeleteFunc(w.backups, func(b backupDone) bool { // also by one that died when it was complete
			_, err := os.Stat(b.path)
			return err != nil
		})
	}}
}

func (w *world) repair(g *rand.Rand) { do(w.toRepair(g)) }

func (w *world) toRepair(*rand.Rand) *task {
	h := w.house
	if h == nil || h.isSick() {
		return nil
	}
	t := &task{name: "verify"}
	t.run = func(ctx context.Context) error {
		_, err := command[archive.Verified](ctx, h, "verify", control.VerifyRequest{Repair: true}, func(event json.RawMessage) {
			var e control.Maintenance
			w.must(json.Unmarshal(event, &e), "read an event of verify")
			if d := e.Damage; d != nil && d.What != errNoIndex.Error() && !h.dead.Load() && !w.isLeftover(*d) && // killed meanwhile, it repairs nothing
				(d.Class != archive.DamageForgetting || t.beside != "forget" && !w.isExcused(errors.New(d.What))) {
				w.report("verify --repair finds %s", d)
			}
		})
		return err
	}
	t.judge = func(err error) {
		if !h.dead.Load() && !w.isExcused(err) {
			w.must(err, "verify --repair")
		}
	}
	return t
}

func (w *world) rebuild(g *rand.Rand) { do(w.toRebuild(g)) }

func (w *world) toRebuild(*rand.Rand) *task {
	h := w.house
	if h == nil || h.isSick() {
		return nil
	}
	return &task{name: "rebuild", run: func(ctx context.Context) error {
		_, err := command[archive.Counts](ctx, h, "rebuild", struct{}{}, nil)
		return err
	}, judge: func(err error) {
		if !h.dead.Load() {
			w.must(err, "rebuild")
		}
	}}
}

// replay has a delivery applied again.
func (w *world) replay(g *rand.Rand) { do(w.toReplay(g)) }

func (w *world) toReplay(g *rand.Rand) *task {
	h := w.house
	if h == nil || h.isSick() {
		return nil
	}
	list, err := h.archive.Inbox().List(context.Background(), inbox.Query{Limit: 20})
	w.must(err, "list deliveries")
	if len(list) == 0 {
		return nil
	}
	d := list[g.IntN(len(list))]
	return &task{name: "replay", run: func(ctx context.Context) error {
		_, err := command[control.DeliveryInfo](ctx, h, "webhook.replay", control.ReplayRequest{ID: d.ID}, nil)
		return err
	}, judge: func(err error) {
		dropped := err != nil && strings.Contains(err.Error(), inbox.ErrBodyDropped.Error())
		if !dropped && !h.dead.Load() {
			w.must(err, "replay")
			w.journal.note("delivery %s is replayed", d.WebhookID)
		}
	}}
}

// prove restores the newest backup for a try.
func (w *world) prove(g *rand.Rand) { do(w.toProve(g)) }

func (w *world) toProve(*rand.Rand) *task {
	h := w.house
	if h == nil || h.isSick() || len(w.backups) == 0 || w.backups[len(w.backups)-1].dir != w.backupDir() {
		return nil
	}
	return &task{name: "prove", run: func(ctx context.Context) error {
		_, err := command[backup.Proof](ctx, h, "prove", struct{}{}, nil)
		return err
	}, judge: func(err error) {
		if h.dead.Load() || w.isExcused(err) {
			return
		}
		w.must(err, "prove the backup")
		if _, err := os.Stat(filepath.Join(h.dir, archive.ProofDir)); err == nil {
			w.fail("the proof has left its scratch directory")
		}
	}}
}

// toExpire has the rules of retention applied at once, as the program does every six hours.
func (w *world) toExpire(*rand.Rand) *task {
	h := w.house
	if h == nil || h.isSick() {
		return nil
	}
	return &task{name: "retention", run: func(ctx context.Context) error {
		h.expiring.Add(1)
		defer h.expiring.Add(-1)
		_, err := command[control.RetentionResult](ctx, h, "retention", control.RetentionRequest{}, h.noteExpired)
		return err
	}, judge: func(err error) {
		switch {
		case h.dead.Load():
		case w.isExcused(err):
			w.oracle.mayExpire()
		default:
			w.must(err, "retention")
		}
	}}
}
