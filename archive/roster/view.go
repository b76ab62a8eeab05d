package roster

import (
	"context"
	"iter"
	"slices"
	"strings"

	"minutebook/archive"
	"minutebook/archive/notes"
)

// View is for whom a question is answered. Merged persons and ticks give no rights.
type View struct {
	Viewer archive.Viewer
	Groups *notes.Groups             // merged persons; nil: none
	Ticks  map[notes.Item]notes.Tick // action items done here
}

// view is a View prepared for the roster, whose lock the caller has.
type view struct {
	*Roster
	all     bool
	allowed []bool  // by principal
	main    []int32 // by key: that of the person whom the key stands for
	ticks   map[uint64]bool
}

// open brings the roster up to date and calls fn with a viewer's view of it.
func (r *Roster) open(ctx context.Context, q View, fn func(*view) error) error {
	mine, err := r.archive.ViewerPrincipals(ctx, q.Viewer)
	if err != nil {
		return err
	}
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	v := &view{Roster: r, all: q.Viewer.All, allowed: make([]bool, len(r.principals.texts)), main: make([]int32, len(r.keys.texts)), ticks: map[uint64]bool{}}
	for _, p := range mine {
		if id, ok := r.principals.ids[p]; ok {
			v.allowed[id] = true
		}
	}
	for i := range v.main {
		v.main[i] = int32(i) //nolint:gosec // as index.add
	}
	if q.Groups != nil {
		for _, names := range q.Groups.All() {
			v.join(names)
		}
	}
	for i := range q.Ticks {
		v.ticks[hashItem(i)] = true
	}
	return fn(v)
}

// join makes one person of the keys with these names.
func (v *view) join(names []string) {
	first := int32(-1)
	for _, name := range names {
		for _, key := range v.folded[strings.ToLower(name)] {
			if first < 0 {
				first = key
			}
			v.main[key] = first
		}
	}
}

// sees tells whether the viewer sees a meeting.
func (v *view) sees(m *meeting) bool {
	if v.all {
		return true
	}
	for _, p := range m.principals {
		if v.allowed[p] {
			return true
		}
	}
	return false
}

// visible returns the meetings that the viewer sees, newest first.
func (v *view) visible() iter.Seq[*meeting] {
	return func(yield func(*meeting) bool) {
		for _, m := range v.order {
			if v.sees(m) && !yield(m) {
				return
			}
		}
	}
}

// visibleInOrder is visible, with the oldest first where that is asked for.
func (v *view) visibleInOrder(oldest bool) iter.Seq[*meeting] {
	if !oldest {
		return v.visible()
	}
	return func(yield func(*meeting) bool) {
		for _, m := range slices.Backward(v.order) {
			if v.sees(m) && !yield(m) {
				return
			}
		}
	}
}

// person returns the person of an alias: the main key.
func (v *view) person(alias int32) int32 {
	if alias < 0 {
		return -1
	}
	return v.main[v.aliases[alias].key]
}

// mainsOf returns the main keys of the persons with a name or address, first the one with
// this key. The viewer may see none of them.
func (v *view) mainsOf(name string) (mains []int32) {
	name = strings.TrimSpace(name)
	for _, key := range v.folded[strings.ToLower(name)] {
		mains = append(mains, v.main[key])
	}
	for _, a := range v.aliases {
		if strings.EqualFold(a.name, name) && !slices.Contains(mains, v.main[a.key]) {
			mains = append(mains, v.main[a.key])
		}
	}
	return mains
}

// isDone tells whether an action item was done, here or at the service.
func (v *view) isDone(i item) bool { return i.done || v.ticks[i.hash] }
