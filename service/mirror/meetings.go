package mirror

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"minutebook/archive"
)

// meeting is a meeting in the mirror. It is small, since lists look through all
// of them.
type meeting struct {
	id, start, created                       int64 // milliseconds; created is 0 when unknown
	meetingType, recorder, team, domainsType symbol
	domains, principals                      listID
	outside                                  bool // recorded outside the organisation
	namesTeams                               bool // its shared_with names teams
	withTeams                                bool // shared_with shares it with teams of the organisation
}

func (m *Mirror) newMeeting(v *archive.Visibility) meeting {
	e := meeting{
		id: v.RecordingID, start: v.Start.UnixMilli(), meetingType: m.symbols.add(v.MeetingType),
		recorder: m.symbols.add(v.RecorderEmail), team: m.symbols.add(v.RecorderTeam), domainsType: m.symbols.add(v.DomainsType),
		domains: m.lists.add(&m.symbols, v.Domains), principals: m.lists.add(&m.symbols, v.Principals),
		outside: v.Outside, namesTeams: v.NamesTeams(), withTeams: v.IsWithTeams(),
	}
	if !v.CreatedAt.IsZero() {
		e.created = v.CreatedAt.UnixMilli()
	}
	return e
}

// readMeetings reads meetings again, all of them with ids nil; those that the
// archive does not hold any more leave the mirror.
func (m *Mirror) readMeetings(ctx context.Context, ids []int64) error {
	var fresh []meeting
	shares := map[int64]map[string]archive.ShareLevel{}
	err := m.archive.Visible(ctx, ids, func(v archive.Visibility) error {
		if archive.IsForeignID(v.RecordingID) && !m.imported {
			return nil
		}
		fresh = append(fresh, m.newMeeting(&v))
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

// replace removes the meetings of ids, none with nil, and puts in fresh ones.
func (m *Mirror) replace(ids []int64, fresh []meeting) {
	const fewMeetings = 256
	if ids == nil || len(ids) > fewMeetings {
		m.replaceMany(ids, fresh)
		return
	}
	for _, id := range ids {
		if at, ok := m.index(id); ok {
			m.meetings = slices.Delete(m.meetings, at, at+1)
			delete(m.starts, id)
		}
	}
	for _, e := range fresh {
		at, _ := slices.BinarySearchFunc(m.meetings, e, newestFirst)
		m.meetings = slices.Insert(m.meetings, at, e)
		m.starts[e.id] = e.start
	}
}

// replaceMany is replace by sorting all meetings once.
func (m *Mirror) replaceMany(ids []int64, fresh []meeting) {
	for _, id := range ids {
		delete(m.starts, id)
	}
	m.meetings = slices.DeleteFunc(m.meetings, func(e meeting) bool {
		_, stays := m.starts[e.id]
		return !stays
	})
	for _, e := range fresh {
		m.starts[e.id] = e.start
	}
	m.meetings = append(m.meetings, fresh...)
	slices.SortFunc(m.meetings, newestFirst)
}

// index returns a meeting's place in the order; caller holds mu.
func (m *Mirror) index(id int64) (int, bool) {
	start, ok := m.starts[id]
	if !ok {
		return 0, false
	}
	return slices.BinarySearchFunc(m.meetings, meeting{id: id, start: start}, newestFirst)
}

// newestFirst is the order of the meetings list.
func newestFirst(a, b meeting) int {
	return cmp.Or(cmp.Compare(b.start, a.start), cmp.Compare(b.id, a.id))
}

// IDs returns all meetings, newest first.
func (m *Mirror) IDs() []int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	ids := make([]int64, len(m.meetings))
	for i, e := range m.meetings {
		ids[i] = e.id
	}
	return ids
}

// Has reports whether the archive holds a meeting.
func (m *Mirror) Has(id int64) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	_, ok := m.starts[id]
	return ok
}
