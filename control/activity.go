package control

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Activity is an operation that runs now and takes its time.
type Activity struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"`
	Stage string    `json:"stage,omitempty"`
	Done  int       `json:"done,omitempty"`
	Total int       `json:"total,omitempty"` // 0: unknown
}

// Activities are the long operations that run in a process, and the states of ended ones
// that the archive did not take. The zero value is useful, and so is nil, which records
// nothing.
type Activities struct {
	mu   sync.Mutex // guards the fields below and the activities
	list []*Activity
	jobs map[string]UpkeepState // the states of upkeep that the archive did not take, by job
}

// unkept returns the state of a job that the archive did not take.
func (a *Activities) unkept(job string) (u UpkeepState, ok bool) {
	if a == nil {
		return u, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	u, ok = a.jobs[job]
	return u, ok
}

// setUnkept remembers the state of a job, or forgets it.
func (a *Activities) setUnkept(job string, u UpkeepState, remember bool) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.jobs, job)
	if remember {
		if a.jobs == nil {
			a.jobs = map[string]UpkeepState{}
		}
		a.jobs[job] = u
	}
}

// List returns the running operations, the oldest first.
func (a *Activities) List() []Activity {
	running := []Activity{}
	if a == nil {
		return running
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, each := range a.list {
		running = append(running, *each)
	}
	return running
}

// Has reports whether an operation of a name runs.
func (a *Activities) Has(name string) bool {
	return slices.ContainsFunc(a.List(), func(each Activity) bool { return each.Name == name })
}

// begin adds an operation. progress records an event of it, end removes it.
func (a *Activities) begin(name string) (progress func(event any), end func()) {
	if a == nil {
		return func(any) {}, func() {}
	}
	entry := &Activity{Name: name, Since: time.Now()}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, entry)
	progress = func(event any) {
		a.mu.Lock()
		defer a.mu.Unlock()
		switch e := event.(type) {
		case Copied:
			entry.Done, entry.Total = e.Done, e.Total
		case Maintenance:
			if e.Damage == nil {
				entry.Stage, entry.Done, entry.Total = e.Stage, e.Done, e.Total
			}
		}
	}
	return progress, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.list = slices.DeleteFunc(a.list, func(other *Activity) bool { return other == entry })
	}
}

// registerLong registers an operation that status shows while it runs, and that waits for no
// command that reads its events.
func registerLong[Q, R any](r *Registry, running *Activities, name string, run func(context.Context, Q, Emit) (R, error)) {
	Register(r, name, func(ctx context.Context, q Q, emit Emit) (R, error) {
		progress, end := running.begin(name)
		if isOverSocket(ctx) {
			events := &relay{emit: emit}
			defer events.passing.Wait() // the result comes after them
			emit = events.pass
		}
		defer end()
		return run(ctx, q, func(event any) error {
			progress(event)
			return emit(event)
		})
	})
}

// relay passes the events of an operation on to a command in its own time. The command may have
// been stopped (Ctrl-Z), while forgetting a meeting waits for the operation.
type relay struct {
	emit    Emit
	passing sync.WaitGroup // passOn, while events wait

	mu      sync.Mutex // guards waiting
	waiting []any      // the first is under way
}

// pass has an event passed on. Newer progress takes the place of progress that waits.
func (r *relay) pass(event any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.waiting) - 1
	if last > 0 && isProgress(event) && isProgress(r.waiting[last]) {
		r.waiting[last] = event
		return nil
	}
	if r.waiting = append(r.waiting, event); last < 0 {
		r.passing.Go(r.passOn)
	}
	return nil
}

// passOn passes on the events that wait, until there are none.
func (r *relay) passOn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.waiting) > 0 {
		event := r.waiting[0]
		r.mu.Unlock()
		_ = r.emit(event) // a caller that has gone cancels the operation's context
		r.mu.Lock()
		r.waiting = r.waiting[1:]
	}
}

// isProgress reports whether an event says less than the next one. A damage does not.
func isProgress(event any) bool {
	switch e := event.(type) {
	case Copied:
		return true
	case Maintenance:
		return e.Damage == nil
	}
	return false
}
