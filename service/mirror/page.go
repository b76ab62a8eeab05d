package mirror

import (
	"sort"

	"github.com/bits-and-blooms/bitset"
)

// PageSize is the number of items of a page; no parameter raises it (2.1).
const PageSize = 10

// Query says which meetings a list shows (4.1); zero fields do not restrict.
// Addresses and domains are in lower case.
type Query struct {
	Domains, RecordedBy, Teams []string
	DomainsType, MeetingType   string
	After, Before              *int64 // milliseconds of created_at, exclusive
}

// Position is the place in the list after which a page begins.
type Position struct{ Start, ID int64 }

// Page is a page of the list: its meetings, the position of its last one, whether
// others follow, and how many meetings were looked at for it.
type Page struct {
	IDs    []int64
	Last   Position
	More   bool
	Looked int
}

// Page finds up to PageSize meetings after a position, from the newest with nil,
// that the person sees and the query matches.
func (m *Mirror) Page(email string, q *Query, after *Position) (p Page) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	f := m.newFilter(email, q)
	i := 0
	if after != nil {
		i = sort.Search(len(m.meetings), func(i int) bool {
			e := &m.meetings[i]
			return e.start < after.Start || e.start == after.Start && e.id < after.ID
		})
	}
	for ; i < len(m.meetings); i++ {
		e := &m.meetings[i]
		p.Looked++
		if !f.matches(e) {
			continue
		}
		if len(p.IDs) == PageSize {
			p.More = true
			return p
		}
		p.IDs = append(p.IDs, e.id)
		p.Last = Position{e.start, e.id}
	}
	return p
}

// filter is a query as a test of meetings.
type filter struct {
	query   *Query
	visible listTest // of principals
	// Each of these is nil where the query does not restrict.
	types, domainsTypes, recorders, teams, domains *bitset.BitSet

	invited    listTest       // of domains
	insideOnly bool           // leaves out meetings recorded outside, except the caller's own
	own        *bitset.BitSet // the caller's address
}

// newFilter turns a query into a test. Caller holds mu as long as it is used.
func (m *Mirror) newFilter(email string, q *Query) *filter {
	f := &filter{query: q, visible: m.lists.newTest(m.principals(email)), own: m.symbols.set([]string{email}),
		types: m.wanted(nonEmpty(q.MeetingType)), domainsTypes: m.wanted(nonEmpty(q.DomainsType)),
		recorders: m.wanted(q.RecordedBy), teams: m.wanted(q.Teams), domains: m.wanted(q.Domains)}
	if f.domains != nil {
		f.invited = m.lists.newTest(f.domains)
	}
	f.insideOnly = f.recorders == nil && f.teams == nil
	return f
}

// matches reports whether the list shows a meeting. Visibility is tested first, and
// a value that occurs nowhere is looked for like any other, so that the time it
// takes tells nothing about meetings that the caller does not see.
func (f *filter) matches(e *meeting) bool {
	switch q := f.query; {
	case !f.visible.has(e.principals),
		f.types != nil && !f.types.Test(uint(e.meetingType)),
		f.domainsTypes != nil && !f.domainsTypes.Test(uint(e.domainsType)),
		f.recorders != nil && !f.recorders.Test(uint(e.recorder)),
		f.teams != nil && !f.teams.Test(uint(e.team)),
		q.After != nil && (e.created == 0 || e.created <= *q.After),
		q.Before != nil && (e.created == 0 || e.created >= *q.Before),
		f.domains != nil && !f.invited.has(e.domains):
		return false
	}
	return !f.insideOnly || !e.outside || f.own.Test(uint(e.recorder))
}

// wanted is the set of a filter's values, nil without a filter.
func (m *Mirror) wanted(values []string) *bitset.BitSet {
	if len(values) == 0 {
		return nil
	}
	return m.symbols.set(values)
}

func nonEmpty(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}
