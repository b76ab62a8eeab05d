package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	byID     map[int64]*entry
	order    []*entry // newest first
	dir      *directory
}

// entry is a meeting in the mirror. It is never changed, only replaced.
type entry struct {
	id             int64
	start, created int64 // milliseconds; created is 0 when unknown
	meetingType    word
	recorder, team word
	domainsType    word
	domains        []word
	principals     []word
	shares         map[string]archive.ShareLevel
	sharedWith     string
	hasSummary     bool
	video, audio   bool
}

func newMirror(a *archive.Archive) *mirror {
	return &mirror{archive: a, words: interner{ids: map[string]word{}}, byID: map[int64]*entry{}, dir: emptyDirectory()}
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
		if m.position.Seq >= head.Seq {
			return nil
		}
	}
	if m.loaded {
		return nil
	}
	m.byID, m.order = map[int64]*entry{}, nil
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
	var fresh []*entry
	err := m.archive.Visible(ctx, ids, func(v archive.Visibility) error {
		fresh = append(fresh, m.entryOf(v))
		return nil
	})
	if err != nil {
		return err
	}
	const few = 256
	if ids == nil || len(ids) > few {
		m.replaceMany(ids, fresh)
		return nil
	}
	for _, id := range ids {
		if old := m.byID[id]; old != nil {
			at, _ := slices.BinarySearchFunc(m.order, old, newestFirst)
			m.order = slices.Delete(m.order, at, at+1)
			delete(m.byID, id)
		}
	}
	for _, e := range fresh {
		at, _ := slices.BinarySearchFunc(m.order, e, newestFirst)
		m.order = slices.Insert(m.order, at, e)
		m.byID[e.id] = e
	}
	return nil
}

// replaceMany takes out the meetings of ids and puts in fresh ones, by sorting
// all of them once.
func (m *mirror) replaceMany(ids []int64, fresh []*entry) {
	for _, id := range ids {
		delete(m.byID, id)
	}
	m.order = slices.DeleteFunc(m.order, func(e *entry) bool { return m.byID[e.id] != e })
	for _, e := range fresh {
		m.byID[e.id] = e
	}
	m.order = append(m.order, fresh...)
	slices.SortFunc(m.order, newestFirst)
}

// newestFirst is the order of the meetings list.
func newestFirst(a, b *entry) int {
	return cmp.Or(cmp.Compare(b.start, a.start), cmp.Compare(b.id, a.id))
}

func (m *mirror) entryOf(v archive.Visibility) *entry {
	e := &entry{
		id: v.RecordingID, start: v.Start.UnixMilli(),
		meetingType: m.words.of(v.MeetingType), recorder: m.words.of(v.RecorderEmail), team: m.words.of(v.RecorderTeam),
		domainsType: m.words.of(v.DomainsType), domains: m.words.all(v.Domains), principals: m.words.all(v.Principals),
		shares: v.Shares, sharedWith: v.SharedWith, hasSummary: v.HasSummary, video: v.HasVideo, audio: v.HasAudio,
	}
	if !v.CreatedAt.IsZero() {
		e.created = v.CreatedAt.UnixMilli()
	}
	return e
}

// get returns a meeting that the person sees.
func (m *mirror) get(id int64, email string) (*entry, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	e := m.byID[id]
	if e == nil || !m.sees(email).any(e.principals) {
		return nil, false
	}
	return e, true
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

// word is a string that the mirror knows, as a small number.
type word uint32

// interner gives out words. Only refresh adds to it.
type interner struct {
	ids   map[string]word
	texts []string
}

func (in *interner) of(text string) word {
	w, ok := in.ids[text]
	if !ok {
		text = strings.Clone(text)
		w = word(len(in.texts))
		in.ids[text], in.texts = w, append(in.texts, text)
	}
	return w
}

func (in *interner) all(texts []string) []word {
	if len(texts) == 0 {
		return nil
	}
	words := make([]word, len(texts))
	for i, t := range texts {
		words[i] = in.of(t)
	}
	return words
}

// wordSet is a set of words as bits.
type wordSet []uint64

func (s wordSet) with(w word) wordSet {
	for int(w/64) >= len(s) {
		s = append(s, 0)
	}
	s[w/64] |= 1 << (w % 64)
	return s
}

func (s wordSet) has(w word) bool { return int(w/64) < len(s) && s[w/64]&(1<<(w%64)) != 0 }

func (s wordSet) any(words []word) bool {
	return slices.ContainsFunc(words, s.has)
}
