package roster

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/notes"
)

// Roster keeps the meetings of an archive in memory. It is safe for concurrent use.
type Roster struct {
	archive *archive.Archive
	seed    maphash.Seed // of digests

	mu     sync.RWMutex // guards all below
	at     archive.Position
	loaded bool
	order  []*meeting // newest first

	principals index                      // parties that see meetings
	aliases    []alias                    // pairs of name and address
	aliasIDs   map[alias]int32            // places in aliases
	keys       index                      // addresses, and names without one
	folded     map[string][]int32         // places in keys by the folded key
	named      map[string][]int32         // places in aliases by the folded name, and by the folded address
	main       []int32                    // by key: the first one that folds to the same
	spelled    map[string]map[string]bool // by the folded text: names and addresses that meetings have otherwise than they are kept here
}

// alias is a name together with an address; one of them may be "".
type alias struct {
	name, email string
	key         int32 // of the person, in Roster.keys
}

// New returns the roster of an archive. It reads the archive at the first question, or
// when it follows.
func New(a *archive.Archive) *Roster { return &Roster{archive: a, seed: maphash.MakeSeed()} }

// followEvery is how often at most the roster follows by itself: a question follows in
// any case, and many changes at once cost less than one by one.
const followEvery = 20 * time.Second

// Follow keeps the roster up to date until ctx ends, so that no question waits long.
func (r *Roster) Follow(ctx context.Context) error {
	for {
		if err := r.catchUp(ctx); err != nil {
			return err
		}
		r.mu.RLock()
		at := r.at
		r.mu.RUnlock()
		if err := r.archive.WaitChange(ctx, at); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(followEvery):
		}
	}
}

// batch is how many changes are followed in one step.
const batch = 2000

// catchUp brings the roster to the change log's head.
func (r *Roster) catchUp(ctx context.Context) error {
	head, err := r.archive.Head(ctx)
	if err != nil {
		return err
	}
	r.mu.RLock()
	current := r.loaded && r.at == head
	r.mu.RUnlock()
	if current {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.loaded {
		if err := r.load(ctx, head); err != nil {
			return err
		}
	}
	for r.at != head {
		changes, err := r.archive.Changes(ctx, r.at, batch)
		if errors.Is(err, archive.ErrForeignEpoch) {
			err = r.load(ctx, head)
		}
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			break
		}
		if err := r.follow(ctx, changes); err != nil {
			return err
		}
	}
	return nil
}

// load reads the whole archive.
func (r *Roster) load(ctx context.Context, head archive.Position) error {
	r.loaded, r.order = false, nil
	r.principals, r.keys = newIndex(), newIndex()
	r.aliases, r.aliasIDs, r.folded, r.named = nil, map[alias]int32{}, map[string][]int32{}, map[string][]int32{}
	r.main, r.spelled = nil, map[string]map[string]bool{}
	spans, err := r.archive.ChangeSpans(ctx)
	if err != nil {
		return err
	}
	meetings, err := r.read(ctx, nil)
	if err != nil {
		return err
	}
	r.insert(meetings, spans)
	r.pack()
	r.at, r.loaded = head, true
	return nil
}

// pack moves all meetings to where they follow one another in memory in the order of
// lists: every answer goes through them in this order.
func (r *Roster) pack() {
	var parts, items, principals int
	for _, m := range r.order {
		parts, items, principals = parts+len(m.people), items+len(m.items), principals+len(m.principals)
	}
	meetings := make([]meeting, len(r.order))
	people, agreed, parties := make([]part, 0, parts), make([]item, 0, items), make([]int32, 0, principals)
	for i, m := range r.order {
		meetings[i] = *m
		m = &meetings[i]
		people, m.people = appendTo(people, m.people)
		agreed, m.items = appendTo(agreed, m.items)
		parties, m.principals = appendTo(parties, m.principals)
		r.order[i] = m
	}
}

// appendTo appends values to a slice with room for them, and returns them as they lie
// there.
func appendTo[T any](all, values []T) (grown, own []T) {
	from := len(all)
	all = append(all, values...)
	return all, all[from:len(all):len(all)]
}

// follow reads the meetings of some changes again. When that fails, the roster is as it was.
func (r *Roster) follow(ctx context.Context, changes []archive.Change) error {
	spans := map[int64]archive.ChangeSpan{}
	for _, c := range changes {
		if c.RecordingID == 0 {
			continue
		}
		span := spans[c.RecordingID]
		span.First, span.Last = cmp.Or(span.First, c.Seq), c.Seq
		if c.Part != api.PartCRM {
			span.LastShown = c.Seq
		}
		spans[c.RecordingID] = span
	}
	if len(spans) > 0 {
		meetings, err := r.read(ctx, slices.Collect(maps.Keys(spans)))
		if err != nil {
			return err
		}
		r.order = slices.DeleteFunc(r.order, func(m *meeting) bool {
			span, changed := spans[m.id]
			if changed && m.changes.First > 0 {
				span.First, span.LastShown = m.changes.First, max(span.LastShown, m.changes.LastShown)
				spans[m.id] = span
			}
			return changed
		})
		r.insert(meetings, spans)
	}
	r.at.Seq = changes[len(changes)-1].Seq
	return nil
}

// insert adds meetings, whose changes are given, in the order of lists.
func (r *Roster) insert(meetings map[int64]*meeting, spans map[int64]archive.ChangeSpan) {
	r.order = slices.Grow(r.order, len(meetings))
	for id, m := range meetings {
		m.changes = spans[id]
		r.order = append(r.order, m)
	}
	slices.SortFunc(r.order, compareMeetings) // most of it is in order
}

// index gives texts small numbers.
type index struct {
	texts []string
	ids   map[string]int32
}

func newIndex() index { return index{ids: map[string]int32{}} }

// add returns the number of a text, which is new for a new one.
func (x *index) add(text string) (id int32, isNew bool) {
	if id, ok := x.ids[text]; ok {
		return id, false
	}
	id = int32(len(x.texts)) //nolint:gosec // far below 2^31
	x.texts = append(x.texts, text)
	x.ids[text] = id
	return id, true
}

// clean returns a name or address without the spaces around it, an address in small
// letters. It remembers how the meeting has it.
func (r *Roster) clean(written string, cleaned func(string) string) string {
	text := cleaned(written)
	if text != written {
		same := r.spelled[notes.Fold(text)]
		if same == nil {
			same = map[string]bool{}
			r.spelled[notes.Fold(text)] = same
		}
		same[written] = true
	}
	return text
}

// alias returns the number of a name with an address, -1 for neither.
func (r *Roster) alias(name, email string) int32 {
	if name == "" && email == "" {
		return -1
	}
	a := alias{name: name, email: email}
	if id, ok := r.aliasIDs[a]; ok {
		return id
	}
	key := email
	if key == "" {
		key = name
	}
	id, known := int32(len(r.aliases)), a //nolint:gosec // far below 2^31
	var isNew bool
	if a.key, isNew = r.keys.add(key); isNew {
		fold := notes.Fold(key)
		same := append(r.folded[fold], a.key)
		r.folded[fold], r.main = same, append(r.main, same[0])
	}
	for _, text := range []string{name, email} {
		if text != "" {
			fold := notes.Fold(text)
			r.named[fold] = append(r.named[fold], id)
		}
	}
	r.aliases = append(r.aliases, a)
	r.aliasIDs[known] = id
	return id
}
