package years

import (
	"container/heap"
	"testing/synctest"
	"time"
)

// agenda is a heap of things to do at a time.
type agenda []planned

type planned struct {
	at   time.Time
	seq  int
	name string
	do   func()
}

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	if !a[i].at.Equal(a[j].at) {
		return a[i].at.Before(a[j].at)
	}
	return a[i].seq < a[j].seq
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

// Push and Pop implement heap.Interface.
func (a *agenda) Push(x any) { *a = append(*a, x.(planned)) }

// Pop removes the last one.
func (a *agenda) Pop() any {
	old := *a
	x := old[len(old)-1]
	old[len(old)-1] = planned{} // which keeps nothing of a start that ended
	*a = old[:len(old)-1]
	return x
}

// later plans something for the driver. Only the driver calls it.
func (w *world) later(d time.Duration, name string, do func()) {
	w.keys++
	heap.Push(&w.todo, planned{time.Now().Add(d), w.keys, name, do})
}

// live lets the world go through its history.
func (w *world) live(o options) {
	for _, p := range w.org.people {
		if p.status != "invited" {
			w.newKeyOnce(p)
		}
	}
	w.putAll()
	end := firstDay.Add(time.Duration(o.days) * 24 * time.Hour)
	if !o.until.IsZero() {
		end = o.until
	}
	w.makePlan(o.days)
	w.house = w.start(w.dataDir)
	w.mend()
	for len(w.todo) > 0 {
		if o.share > 0 && processorTime(w.t)-w.began > o.share {
			w.cut = true
			break
		}
		next := heap.Pop(&w.todo).(planned)
		if next.at.After(end) {
			break
		}
		time.Sleep(time.Until(next.at))
		synctest.Wait()
		w.look()
		w.acting.Store(true)
		next.do()
		w.acting.Store(false)
		synctest.Wait()
		w.look()
	}
}

// look ends the run after a finding, and starts the program again where it has died.
func (w *world) look() {
	w.mu.Lock()
	found := w.finding != ""
	w.mu.Unlock()
	if found {
		panic(abort{})
	}
	h := w.house
	if h == nil {
		return
	}
	ended := false
	select {
	case <-h.ended:
		ended = true
	default:
	}
	if !ended && !h.dead.Load() {
		return
	}
	if ended && h.err == nil && !h.dead.Load() {
		w.report("the sync ended by itself")
	}
	w.journal.note("the program has ended: %v", h.err)
	w.oracle.settle(time.Now(), true)
	w.oracle.mayExpire()
	h.close()
	w.startLater(time.Duration(1+w.seed%50) * time.Second)
}

func (w *world) startLater(d time.Duration) {
	w.later(d, "start", func() {
		if w.house == nil {
			w.journal.note("the program starts")
			w.start(w.dataDir)
		}
	})
}

// end stops everything.
func (w *world) end() {
	if w.house != nil {
		w.house.close()
	}
	if err := w.upstream.archive.Close(); err != nil {
		w.t.Error(err)
	}
}
