package roster

import (
	"cmp"
	"context"
	"hash/fnv"
	"math"
	"strconv"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/notes"
)

// meeting is a meeting as it is kept.
type meeting struct {
	id         int64
	start      int64  // milliseconds, as lists order it
	length     uint32 // milliseconds
	transcript bool   // it has one
	recording  bool   // likewise
	changes    archive.ChangeSpan
	principals []int32
	people     []part
	items      []item
}

// part is somebody's part in a meeting.
type part struct {
	alias int32
	roles archive.AppearanceRole
	words int32
}

// item is an action item.
type item struct {
	alias    int32 // of the assignee, -1 for nobody
	position int32
	done     bool // at the service
	hash     uint64
}

// duration returns the length of a meeting.
func (m *meeting) duration() time.Duration { return time.Duration(m.length) * time.Millisecond }

// compareMeetings orders meetings as lists do.
func compareMeetings(a, b *meeting) int {
	return cmp.Or(cmp.Compare(b.start, a.start), cmp.Compare(b.id, a.id))
}

// read reads some meetings, or all where ids is nil, into the roster.
func (r *Roster) read(ctx context.Context, ids []int64) error {
	err := r.archive.Visible(ctx, ids, func(v archive.Visibility) error {
		m := &meeting{id: v.RecordingID, start: v.Start.UnixMilli(), transcript: v.HasTranscript, recording: v.HasVideo || v.HasAudio,
			principals: make([]int32, len(v.Principals))}
		for i, p := range v.Principals {
			m.principals[i], _ = r.principals.add(p)
		}
		r.meetings[m.id] = m
		return nil
	})
	if err != nil {
		return err
	}
	err = r.archive.Lengths(ctx, ids, func(id int64, length time.Duration) {
		if m := r.meetings[id]; m != nil {
			m.length = uint32(min(length.Milliseconds(), math.MaxUint32)) //nolint:gosec // not below 0
		}
	})
	if err != nil {
		return err
	}
	spokenAs := map[int64]map[string]int32{} // by meeting and a speaker's name: the invitee
	return r.archive.Appearances(ctx, ids, func(p archive.Appearance) {
		if m := r.meetings[p.RecordingID]; m != nil {
			r.add(m, p, spokenAs)
		}
	})
}

// add adds an appearance to a meeting. Recorders and invitees come first: a speaker or
// assignee without an address is the person of that name in the meeting who has one.
func (r *Roster) add(m *meeting, p archive.Appearance, spokenAs map[int64]map[string]int32) {
	p.Name, p.Email = r.clean(p.Name, strings.TrimSpace), r.clean(p.Email, api.FoldEmail)
	id := r.alias(p.Name, p.Email)
	names := spokenAs[m.id]
	switch {
	case p.Email != "":
		if names == nil {
			names = map[string]int32{}
			spokenAs[m.id] = names
		}
		for _, name := range []string{p.Name, p.SpokenAs} {
			if _, ok := names[name]; !ok && name != "" {
				names[name] = id
			}
		}
	default:
		if invitee, ok := names[p.Name]; ok {
			id = invitee
		}
	}
	if p.Role == archive.AsAssignee {
		m.items = append(m.items, item{alias: id, position: int32(p.Item.Position), done: p.Item.Completed, //nolint:gosec // small
			hash: hashItem(notes.Item{RecordingID: m.id, At: p.Item.Offset, Text: p.Item.Description})})
		return
	}
	if id < 0 {
		return
	}
	for i := range m.people {
		if q := &m.people[i]; r.aliases[q.alias].key == r.aliases[id].key {
			q.roles |= p.Role
			q.words += int32(p.Words) //nolint:gosec // of one meeting
			if r.aliases[q.alias].name == "" {
				q.alias = id
			}
			return
		}
	}
	m.people = append(m.people, part{id, p.Role, int32(p.Words)}) //nolint:gosec // likewise
}

// hashItem identifies an action item.
func hashItem(i notes.Item) uint64 {
	h := fnv.New64a()
	ms := int64(-1)
	if i.At >= 0 {
		ms = i.At.Milliseconds()
	}
	text := strconv.AppendInt(nil, i.RecordingID, 10)
	text = append(strconv.AppendInt(append(text, ' '), ms, 10), ' ')
	_, _ = h.Write(append(text, i.Text...)) // a hash takes everything
	return h.Sum64()
}
