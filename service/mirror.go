package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"minutebook/api"
	"minutebook/archive"
)

// mirror holds in memory what decides which meetings an answer shows: for each
// meeting its place in the order, its filters' values and who sees it, and the
// directory. It is a copy of what the archive says, brought up to the head of
// the change log by refresh, so a page is found without touching the disk.
type mirror struct {
	archive *archive.Archive

	mu       sync.RWMutex // guards all below
	position archive.Position
	loaded   bool
	words    interner
	groups   groups
	order    []entry                                 // newest first
	starts   map[int64]int64                         // by recording, where it is in the order
	shares   map[int64]map[string]archive.ShareLevel // by recording, the explicit ones
	dir      *directory
}

// entry is a meeting in the mirror. It is small, since lists look through all of
// them.
type entry struct {
	id, start, created                                   int64 // milliseconds; created is 0 when unknown
	meetingType, recorder, team, domainsType, sharedWith word
	domains, parties                                     group
	outside                                              bool // of the organisation
	withTeams                                            bool // shared_with shares it with teams of the organisation
}

func newMirror(a *archive.Archive) *mirror {
	m := &mirror{archive: a, dir: emptyDirectory()}
	m.clear()
	return m
}

// clear forgets all meetings; caller holds mu.
func (m *mirror) clear() {
	m.words, m.groups = newInterner(), newGroups()
	m.order, m.starts, m.shares = nil, map[int64]int64{}, map[int64]map[string]archive.ShareLevel{}
}

// crowded tells whether most of the words and groups are of what has changed
// since, so that reading all of it again is worth while; caller holds mu.
func (m *mirror) crowded() bool {
	const spare = 100_000
	return len(m.groups.words) > 4*len(m.order)+spare || len(m.words.texts) > 40*len(m.order)+spare
}

// refresh brings the mirror to the head of the change log as it is now.
func (m *mirror) refresh(ctx context.Context) error {
	head, err := m.archive.Head(ctx)
	if err != nil {
		return err
	}
	m.mu.RLock()
	current := m.loaded && m.position == head
	m.mu.RUnlock()
	if current {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.catchUp(ctx, head); err != nil {
		return fmt.Errorf("follow the archive: %w", err)
	}
	return nil
}

// catchUp reads what changed; caller holds mu. A position that is foreign to
// the log means reading everything again.
func (m *mirror) catchUp(ctx context.Context, head archive.Position) error {
	const most = 2000
	for m.loaded && m.position != head {
		changes, err := m.archive.Changes(ctx, m.position, most)
		if errors.Is(err, archive.ErrForeignEpoch) {
			m.loaded = false
			break
		}
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			return nil // the head is past deleted changes only
		}
		if err := m.take(ctx, changes); err != nil {
			return err
		}
		m.position.Seq = changes[len(changes)-1].Seq
		if m.crowded() {
			m.loaded = false
			break
		}
		if m.position.Seq >= head.Seq {
			return nil
		}
	}
	if m.loaded {
		return nil
	}
	m.clear()
	if err := m.reload(ctx, nil); err != nil {
		return err
	}
	if err := m.readDirectory(ctx); err != nil {
		return err
	}
	m.position, m.loaded = head, true
	return nil
}

func (m *mirror) take(ctx context.Context, changes []archive.Change) error {
	var ids []int64
	directory := false
	for _, c := range changes {
		if c.RecordingID == 0 {
			directory = true
			continue
		}
		if c.Kind == archive.ChangePart && c.Part != api.PartMeeting && c.Part != api.PartSummary {
			continue
		}
		ids = append(ids, c.RecordingID)
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) > 0 {
		if err := m.reload(ctx, ids); err != nil {
			return err
		}
	}
	if directory {
		return m.readDirectory(ctx)
	}
	return nil
}

// reload reads meetings again, all of them with ids nil; what is not there any
// more leaves the mirror.
func (m *mirror) reload(ctx context.Context, ids []int64) error {
	var fresh []entry
	shares := map[int64]map[string]archive.ShareLevel{}
	err := m.archive.Visible(ctx, ids, func(v archive.Visibility) error {
		fresh = append(fresh, m.entryOf(&v))
		if len(v.Shares) > 0 {
			shares[v.RecordingID] = v.Shares
		}
		return nil
	})
	if err != nil {
		return err
	}
	m.replace(ids, fresh)
	for _, id := range ids {
		delete(m.shares, id)
	}
	maps.Copy(m.shares, shares)
	return nil
}

// replace takes out the meetings of ids, nil for none, and puts in fresh ones.
func (m *mirror) replace(ids []int64, fresh []entry) {
	const few = 256
	if ids == nil || len(ids) > few {
		m.replaceMany(ids, fresh)
		return
	}
	for _, id := range ids {
		if at, ok := m.find(id); ok {
			m.order = slices.Delete(m.order, at, at+1)
			delete(m.starts, id)
		}
	}
	for _, e := range fresh {
		at, _ := slices.BinarySearchFunc(m.order, e, newestFirst)
		m.order = slices.Insert(m.order, at, e)
		m.starts[e.id] = e.start
	}
}

// replaceMany is replace by sorting all of the order once.
func (m *mirror) replaceMany(ids []int64, fresh []entry) {
	for _, id := range ids {
		delete(m.starts, id)
	}
	m.order = slices.DeleteFunc(m.order, func(e entry) bool {
		_, stays := m.starts[e.id]
		return !stays
	})
	for _, e := range fresh {
		m.starts[e.id] = e.start
	}
	m.order = append(m.order, fresh...)
	slices.SortFunc(m.order, newestFirst)
}

// find returns a meeting's place in the order; caller holds mu.
func (m *mirror) find(id int64) (int, bool) {
	start, ok := m.starts[id]
	if !ok {
		return 0, false
	}
	return slices.BinarySearchFunc(m.order, entry{id: id, start: start}, newestFirst)
}

// newestFirst is the order of the meetings list.
func newestFirst(a, b entry) int {
	return cmp.Or(cmp.Compare(b.start, a.start), cmp.Compare(b.id, a.id))
}

func (m *mirror) entryOf(v *archive.Visibility) entry {
	e := entry{
		id: v.RecordingID, start: v.Start.UnixMilli(), meetingType: m.words.of(v.MeetingType),
		recorder: m.words.of(v.RecorderEmail), team: m.words.of(v.RecorderTeam), domainsType: m.words.of(v.DomainsType),
		sharedWith: m.words.of(v.SharedWith), domains: m.groups.of(&m.words, v.Domains), parties: m.groups.of(&m.words, v.Principals),
		outside: v.Outside, withTeams: !v.Gone && !v.Outside && sharesWithTeams(v.SharedWith),
	}
	if !v.CreatedAt.IsZero() {
		e.created = v.CreatedAt.UnixMilli()
	}
	return e
}

// shows tells whether a person sees a meeting.
func (m *mirror) shows(id int64, email string) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	e, _ := m.seen(id, email)
	return e != nil
}

// seen returns a meeting and the parties that a person is of; nil when there is
// none that the person sees. One that is not there costs the same work as one
// that is hidden. Caller holds mu as long as the meeting is used.
func (m *mirror) seen(id int64, email string) (*entry, wordSet) {
	sees := m.sees(email)
	at, ok := m.find(id)
	var parties []word
	if ok {
		parties = m.groups.words[m.order[at].parties]
	}
	if !sees.any(parties) {
		return nil, sees
	}
	return &m.order[at], sees
}

// sees returns the set of parties that a person is of; caller holds mu.
func (m *mirror) sees(email string) wordSet {
	var set wordSet
	for _, p := range m.dir.principals(email) {
		if w, ok := m.words.ids[p]; ok {
			set = set.with(w)
		}
	}
	return set
}
