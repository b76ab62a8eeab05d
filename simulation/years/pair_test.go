package years

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing/synctest"
	"time"

	"minutebook/archive"
)

// tasks are the commands of which two are given at once. A restore is not one of them: it makes a
// directory of its own while no program runs. prove restores while others run.
var tasks = []func(*world, *rand.Rand) *task{
	(*world).toForget, (*world).toForget, (*world).toBackUp, (*world).toBackUp, (*world).toRepair, (*world).toExport,
	(*world).toImport, (*world).toRebuild, (*world).toExpire, (*world).toReplay, (*world).toProve,
}

// pair gives two commands, the second in the same moment or somewhat later, on a disk whose commits
// take long, since else the first would have ended by then in virtual time. In some cases the
// program is killed meanwhile. Each command ends well, or is refused since the other one runs. The
// second begins when the first waits, so that a seed always has the same order.
func (w *world) pair(g *rand.Rand) {
	h := w.house
	if h == nil || h.dead.Load() || w.isCalm() {
		return
	}
	first, second := tasks[g.IntN(len(tasks))](w, g), tasks[g.IntN(len(tasks))](w, g)
	between := []time.Duration{0, time.Duration(1+g.IntN(1000)) * time.Millisecond, time.Duration(1+g.IntN(60)) * time.Second}[g.IntN(3)]
	kill, most := time.Duration(0), []time.Duration{time.Second, 10 * time.Second, time.Minute}[g.IntN(3)]
	if g.IntN(4) == 0 {
		kill = time.Duration(1+g.IntN(60_000)) * time.Millisecond
	}
	if first == nil || second == nil {
		return
	}
	first.beside, second.beside = second.name, first.name
	w.journal.note("%s, and after %s %s", first.name, between, second.name)
	if w.disk.present() == nil {
		w.slowFor(time.Duration(1+g.IntN(60))*time.Minute, most, g.IntN(2) == 0)
	}
	firstAnswer := h.begin(first)
	time.Sleep(between)
	secondAnswer := h.begin(second)
	if kill > 0 {
		time.Sleep(kill)
		if w.house == h && !h.dead.Load() {
			w.journal.note("meanwhile %d of them have ended", len(firstAnswer)+len(secondAnswer))
			w.killProgram(g)
		}
	}
	for _, given := range []struct {
		*task
		answer chan error
	}{{first, firstAnswer}, {second, secondAnswer}} {
		err := <-given.answer
		if given.isRefused(err) {
			w.journal.note("%s is refused: %v", given.name, err)
			continue
		}
		given.judge(err)
	}
}

// begin has the program begin with a command, which a stop cancels, until it waits for something.
func (h *house) begin(t *task) (answer chan error) {
	answer = make(chan error, 1)
	h.work.Go(func() { answer <- t.run(h.life) })
	synctest.Wait()
	return answer
}

// isRefused reports whether a command was refused in words that name the command beside it.
func (t *task) isRefused(err error) bool {
	if err == nil {
		return false
	}
	words := archive.ErrForgottenMeanwhile.Error()
	if t.beside != "forget" {
		words = fmt.Sprintf("another %s ", t.name)
	}
	return (t.beside == "forget" || t.beside == t.name) && strings.Contains(err.Error(), words)
}
