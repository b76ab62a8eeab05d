package roster

import (
	"context"
	"iter"
	"maps"
	"slices"

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
	ticks   map[tick]bool
}

// tick is an action item that was done here.
type tick struct {
	meeting int64
	hash    uint32
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
	v := &view{Roster: r, all: q.Viewer.All, allowed: make([]bool, len(r.principals.texts)), main: slices.Clone(r.main), ticks: map[tick]bool{}}
	for _, p := range mine {
		if id, ok := r.principals.ids[p]; ok {
			v.allowed[id] = true
		}
	}
	if q.Groups != nil {
		for _, names := range q.Groups.All() {
			v.join(names)
		}
	}
	for i := range q.Ticks {
		v.ticks[tick{i.RecordingID, hashItem(i.At, i.Text)}] = true
	}
	return fn(v)
}

// join makes one person of the keys with these names.
func (v *view) join(names []string) {
	first := int32(-1)
	for _, name := range names {
		for _, key := range v.folded[notes.Fold(name)] {
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

// Few returns the meetings that the viewer sees, newest first, or nil if they are more than
// so many.
func (r *Roster) Few(ctx context.Context, q View, most int) (ids []int64, err error) {
	err = r.open(ctx, q, func(v *view) error {
		ids = []int64{}
		for m := range v.visible() {
			if len(ids) == most {
				ids = nil
				break
			}
			ids = append(ids, m.id)
		}
		return nil
	})
	return ids, err
}

// person returns the person of an alias: the main key.
func (v *view) person(alias int32) int32 {
	if alias < 0 {
		return -1
	}
	return v.main[v.aliases[alias].key]
}

// mainsOf returns the main keys of the persons whom the viewer sees by a name or address,
// first the one with this key.
func (v *view) mainsOf(name string) (mains []int32) {
	name = notes.Fold(name)
	keys, ids := v.folded[name], v.named[name]
	seen := map[int32]bool{} // aliases with the name; true: the viewer sees it
	for _, id := range ids {
		seen[id] = false
	}
	if len(seen) == 0 {
		return nil
	}
	for m := range v.visible() {
		for _, p := range m.people {
			v.markSeen(seen, p.alias)
		}
		for _, i := range m.items {
			v.markSeen(seen, i.alias)
		}
	}
	for _, byKey := range []bool{true, false} {
		for _, id := range ids {
			if a := v.aliases[id]; seen[id] && slices.Contains(keys, a.key) == byKey && !slices.Contains(mains, v.main[a.key]) {
				mains = append(mains, v.main[a.key])
			}
		}
	}
	return mains
}

// markSeen notes that the viewer sees an alias, if it is one of those looked for.
func (v *view) markSeen(seen map[int32]bool, alias int32) {
	if _, wanted := seen[alias]; wanted {
		seen[alias] = true
	}
}

// NamesOf returns all names and addresses of a person whom the viewer sees by one of them, as
// meetings have them. It returns none for others: they are of meetings that the viewer does not see.
func (r *Roster) NamesOf(ctx context.Context, q View, name string) (names []string, err error) {
	err = r.open(ctx, q, func(v *view) error {
		if len(v.mainsOf(name)) == 0 {
			return nil
		}
		same := []string{name}
		if q.Groups != nil {
			same = q.Groups.Same(name)
		}
		for _, name := range same {
			names = append(names, name)
			for _, key := range v.folded[notes.Fold(name)] {
				names = append(names, v.keys.texts[key])
			}
			names = slices.AppendSeq(names, maps.Keys(v.spelled[notes.Fold(name)]))
		}
		return nil
	})
	return names, err
}

// isDone reports whether an action item of a meeting was done, here or at the service.
func (v *view) isDone(m *meeting, i item) bool { return i.done() || v.ticks[tick{m.id, i.hash}] }
