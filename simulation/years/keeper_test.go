package years

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"minutebook/archive/backup"
)

// backupDone is a generation of the backups, and the content it must have.
type backupDone struct {
	dir        string // of backups
	name, path string
	at         time.Time
	memory     memory
}

// backupDir is the directory of backups of the present copy of the archive: a restored
// one is refused where there are newer backups of the copy before it.
func (w *world) backupDir() string { return filepath.Join(w.dir, fmt.Sprintf("backups%d", w.restores)) }

// stopProgram stops the program in order, and starts it after a while.
func (w *world) stopProgram(g *rand.Rand) {
	if w.house == nil {
		return
	}
	w.oracle.settle(time.Now(), true)
	w.house.close()
	down := time.Duration(g.Int64N(int64(3 * 24 * time.Hour)))
	if g.IntN(2) == 0 {
		down = time.Duration(g.IntN(90)) * time.Second
	}
	w.journal.note("the program is stopped for %s", down)
	w.startLater(down)
}

// killProgram kills the program while its calls are on their way.
func (w *world) killProgram(g *rand.Rand) {
	h := w.house
	if h == nil {
		return
	}
	synctest.Wait()
	w.oracle.settle(time.Now(), true)
	dir := w.newDir()
	w.must(copyDir(h.dir, dir), "copy the data directory")
	h.dead.Store(true)
	h.close()
	_ = os.RemoveAll(h.dir)
	w.dataDir = dir
	down := time.Duration(g.IntN(20)) * time.Second
	w.journal.note("the program is killed, and starts after %s", down)
	w.startLater(down)
}

// killAtCommit kills the program before one of its next commits.
func (w *world) killAtCommit(g *rand.Rand) {
	if h := w.house; h != nil {
		n := 1 + g.Int64N(30)
		w.journal.note("the program dies before its commit %d from now", n)
		h.fatal.Store(n)
	}
}

// sickDisk lets all commits fail for some time.
func (w *world) sickDisk(g *rand.Rand) {
	h := w.house
	if h == nil || h.dead.Load() {
		return
	}
	w.oracle.settle(time.Now(), true)
	d, began := time.Duration(10+g.IntN(3*3600))*time.Second, time.Now() // an event may keep the driver longer
	w.journal.note("the disk fails for %s", d)
	w.oracle.mayExpire()
	if _, isSick := w.sickSince(); !isSick {
		h.troubled.Store(time.Now().UnixNano())
	}
	h.sick.Store(1)
	w.later(d, "heal", func() {
		w.journal.note("the disk is well again")
		w.oracle.settle(began, true)
		h.sick.Store(0)
	})
}

// stepClock sets the machine's clock, and right again after a while.
func (w *world) stepClock(g *rand.Rand) {
	steps := []time.Duration{-time.Second, 5 * time.Second, -10 * time.Minute, 10 * time.Minute, -3 * time.Hour, 26 * time.Hour, -26 * time.Hour,
		40 * 24 * time.Hour, -40 * 24 * time.Hour}
	step := steps[g.IntN(len(steps))]
	w.journal.note("the clock is set by %s", step)
	w.disturbRelay()
	before := w.skew.Swap(int64(step))
	w.agePast()
	w.mu.Lock()
	if before != int64(step) {
		w.skewedAt = time.Now()
	}
	w.mu.Unlock()
	w.later(time.Duration(1+g.IntN(48))*time.Hour, "clock right", func() {
		w.journal.note("the clock is right again")
		w.skew.Store(0)
		w.disturbRelay()
	})
}

// configure changes the configuration.
func (w *world) configure(g *rand.Rand) {
	switch g.IntN(5) {
	case 0: // an account more or less
		p := w.org.people[g.IntN(len(w.org.people))]
		i := slices.IndexFunc(w.config.accounts, func(a account) bool { return a.email == p.email })
		switch {
		case i >= 0 && len(w.config.accounts) > 1:
			w.config.accounts = slices.Delete(slices.Clone(w.config.accounts), i, i+1)
			w.journal.note("account %s leaves the configuration", p.name)
		case i < 0 && p.key != "":
			w.config.accounts = append(slices.Clone(w.config.accounts), account{name: p.name, email: p.email, address: p.at(), key: p.key})
			w.config.secrets[p.name] = w.newSecret(p.name)
			w.journal.note("account %s enters the configuration", p.name)
		}
	case 1: // another key
		a := &w.config.accounts[g.IntN(len(w.config.accounts))]
		p := w.org.person(a.email)
		if !p.isActive() {
			return
		}
		if a.oauth {
			w.connect(a.name)
			break
		}
		w.newKey(p)
		a.key = p.key
		w.journal.note("account %s has another key", a.name)
	case 2: // lists of teams
		a := &w.config.accounts[g.IntN(len(w.config.accounts))]
		a.teams = nil
		if g.IntN(3) > 0 {
			a.teams = []string{w.org.teams[g.IntN(2)]}
		}
		w.journal.note("account %s lists the teams %v", a.name, a.teams)
	case 3: // another secret
		a := w.config.accounts[g.IntN(len(w.config.accounts))]
		w.config.secrets[a.name] = w.newSecret(a.name)
		w.journal.note("account %s has another webhook secret", a.name)
	default:
		w.setRules(keeping{media: []time.Duration{0, 60 * 24 * time.Hour, 200 * 24 * time.Hour}[g.IntN(3)]})
	}
	w.reconfigured()
}

// reconfigured puts a changed configuration into force, now or at the next start.
func (w *world) reconfigured() {
	w.disturbRelay()
	switch h := w.house; {
	case h == nil || h.dead.Load(): // the next start has the configuration
	case h.isSick(): // the reload is refused, and somebody tries again
		w.later(time.Hour, "reload again", w.reconfigured)
	default:
		h.reload()
	}
}

// noteAccounts notes the accounts that the program reads from now on. The work for those that are
// as before goes on.
func (w *world) noteAccounts() {
	changed := false
	for _, lists := range [][2][]account{{w.read, w.config.accounts}, {w.config.accounts, w.read}} {
		for _, a := range lists[0] {
			if !slices.ContainsFunc(lists[1], func(b account) bool { return cmp.Equal(a, b, cmp.AllowUnexported(account{})) }) {
				w.oracle.move(a.email)
				changed = true
			}
		}
	}
	if changed {
		w.oracle.settle(time.Now(), true)
	}
	w.read = slices.Clone(w.config.accounts)
}

// restore makes a data directory from a backup, perhaps an older one.
func (w *world) restore(g *rand.Rand) {
	if w.house == nil || len(w.backups) == 0 || w.house.dead.Load() {
		return
	}
	b := w.backups[g.IntN(len(w.backups))]
	old := w.house.dir
	w.house.close()
	dir := w.newDir()
	restore := func() error {
		_, err := backup.Restore(context.Background(), backup.RestoreOptions{From: b.dir, Generation: b.name, Dir: dir, OldData: []string{old}, Identities: w.identities(),
			MediaURL: w.mediaURL(), MediaLine: w.line(nil), Now: w.now, Logger: w.logger})
		return err
	}
	err := restore()
	for ; w.isExcused(err); err = restore() { // the person tries again
		time.Sleep(time.Hour)
	}
	w.must(err, "restore")
	w.journal.note("backup %s of %s is restored", b.name, stamp(b.at))
	_ = os.RemoveAll(old)
	w.restores++
	w.dataDir = dir
	w.oracle.goBack(b.memory)
	w.told.goBack()
	w.config.keeps.since = time.Now() // as if they were new
	w.disturbRelay()
	w.restoreHooks(b.at)
	w.start(dir)
	w.correctAddresses()
	w.later(time.Hour, "look for forgotten bytes", func() {
		if w.house != nil && w.house.number == w.starts && !w.house.dead.Load() {
			w.checkAllForgotten()
		}
	})
}
