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
)

// meeting is a meeting as it is kept. It and its parts and items are as small as they can
// be, since those of all meetings stay in memory.
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
	spoke uint32 // the words, and in the lowest bits the roles
}

// roleBits is how many bits of part.spoke are roles.
const roleBits = 4

func newPart(alias int32, roles archive.AppearanceRole, words int64) part {
	return part{alias, uint32(min(words, math.MaxUint32>>roleBits))<<roleBits | uint32(roles)} //nolint:gosec // not below 0
}

func (p part) roles() archive.AppearanceRole {
	return archive.AppearanceRole(p.spoke & (1<<roleBits - 1))
}                           //nolint:gosec // four bits
func (p part) words() int64 { return int64(p.spoke >> roleBits) }

// item is an action item.
type item struct {
	alias int32  // of the assignee, -1 for nobody
	place uint32 // twice its position, and 1 more where it is done at the service
	hash  uint32 // of its time and text
}

func newItem(alias int32, i archive.AppearanceItem) item {
	place := uint32(i.Position) << 1 //nolint:gosec // small
	if i.Completed {
		place |= 1
	}
	return item{alias, place, hashItem(i.Offset, i.Description)}
}

func (i item) position() int { return int(i.place >> 1) }
func (i item) done() bool    { return i.place&1 != 0 }

// duration returns the length of a meeting.
func (m *meeting) duration() time.Duration { return time.Duration(m.length) * time.Millisecond }

// compareMeetings orders meetings as lists do.
func compareMeetings(a, b *meeting) int {
	return cmp.Or(cmp.Compare(b.start, a.start), cmp.Compare(b.id, a.id))
}

// read returns some meetings, or all where ids is nil, without their changes.
func (r *Roster) read(ctx context.Context, ids []int64) (map[int64]*meeting, error) {
	meetings := map[int64]*meeting{}
	err := r.archive.Visible(ctx, ids, func(v archive.Visibility) error {
		m := &meeting{id: v.RecordingID, start: v.Start.UnixMilli(), transcript: v.HasTranscript, recording: v.HasVideo || v.HasAudio,
			principals: make([]int32, len(v.Principals))}
		for i, p := range v.Principals {
			m.principals[i], _ = r.principals.add(p)
		}
		meetings[m.id] = m
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = r.archive.Lengths(ctx, ids, func(id int64, length time.Duration) {
		if m := meetings[id]; m != nil {
			m.length = uint32(min(length.Milliseconds(), math.MaxUint32)) //nolint:gosec // not below 0
		}
	})
	if err != nil {
		return nil, err
	}
	spokenAs := map[int64]map[string]int32{} // by meeting and a speaker's name: the invitee
	err = r.archive.Appearances(ctx, ids, func(p archive.Appearance) {
		if m := meetings[p.RecordingID]; m != nil {
			r.add(m, p, spokenAs)
		}
	})
	return meetings, err
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
		m.items = append(m.items, newItem(id, p.Item))
		return
	}
	if id < 0 {
		return
	}
	for i := range m.people {
		if q := &m.people[i]; r.aliases[q.alias].key == r.aliases[id].key {
			if r.aliases[q.alias].name == "" {
				q.alias = id
			}
			*q = newPart(q.alias, q.roles()|p.Role, q.words()+p.Words)
			return
		}
	}
	m.people = append(m.people, newPart(id, p.Role, p.Words))
}

// hashItem tells an action item from the others of its meeting.
func hashItem(at time.Duration, text string) uint32 {
	h := fnv.New32a()
	ms := int64(-1)
	if at >= 0 {
		ms = at.Milliseconds()
	}
	_, _ = h.Write(append(strconv.AppendInt(nil, ms, 10), ' ')) // a hash takes everything
	_, _ = h.Write([]byte(text))
	return h.Sum32()
}
