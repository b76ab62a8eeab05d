package service

import (
	"sort"
)

// found is a page: its meetings, the position of its last one, whether others
// follow, and how many entries were looked at for it.
type found struct {
	ids    []int64
	last   position
	more   bool
	looked int
}

// page finds up to pageSize meetings after a position that the person sees and
// the filters match, newest first.
func (m *mirror) page(email string, q *meetingsQuery, after *position) (p found) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	match := m.matcher(email, q)
	i := 0
	if after != nil {
		i = sort.Search(len(m.order), func(i int) bool {
			e := &m.order[i]
			return e.start < after.start || e.start == after.start && e.id < after.id
		})
	}
	for ; i < len(m.order); i++ {
		e := &m.order[i]
		p.looked++
		if !match.has(e) {
			continue
		}
		if len(p.ids) == pageSize {
			p.more = true
			return p
		}
		p.ids = append(p.ids, e.id)
		p.last = position{e.start, e.id}
	}
	return p
}

// matcher is a query as a test of entries.
type matcher struct {
	m     *mirror
	query *meetingsQuery
	sees  wordSet
	// Each is nil where the query does not ask.
	types, domainsTypes, recorders, teams, domains wordSet

	parties, inDomains memo    // by group
	insideOnly         bool    // what was recorded outside is left out, but for the caller's own
	own                wordSet // the caller's address
}

// matcher turns a query into a test. Caller holds mu as long as it is used.
func (m *mirror) matcher(email string, q *meetingsQuery) *matcher {
	t := &matcher{m: m, query: q, sees: m.sees(email), types: m.wanted(one(q.meetingType)), domainsTypes: m.wanted(one(q.domainsType)),
		recorders: m.wanted(q.recordedBy), teams: m.wanted(q.teams), domains: m.wanted(q.domains), parties: make(memo, len(m.groups.words))}
	if t.domains != nil {
		t.inDomains = make(memo, len(m.groups.words))
	}
	t.insideOnly = t.recorders == nil && t.teams == nil
	t.own = m.wanted(one(email))
	return t
}

// has tells whether an entry matches. Who sees it is asked first, and a value
// that occurs nowhere is looked for like any other, so that how long it takes
// says nothing of what the caller does not see.
func (t *matcher) has(e *entry) bool {
	switch q := t.query; {
	case !t.visible(e.parties),
		t.types != nil && !t.types.has(e.meetingType),
		t.domainsTypes != nil && !t.domainsTypes.has(e.domainsType),
		t.recorders != nil && !t.recorders.has(e.recorder),
		t.teams != nil && !t.teams.has(e.team),
		q.after != nil && (e.created == 0 || e.created <= *q.after),
		q.before != nil && (e.created == 0 || e.created >= *q.before),
		t.domains != nil && !t.invited(e.domains):
		return false
	}
	return !t.insideOnly || !e.outside || t.own.has(e.recorder)
}

func (t *matcher) visible(g group) bool {
	if known := t.parties[g]; known != 0 {
		return known == memoYes
	}
	return t.parties.set(int(g), t.sees.any(t.m.groups.words[g]))
}

func (t *matcher) invited(g group) bool {
	if known := t.inDomains[g]; known != 0 {
		return known == memoYes
	}
	return t.inDomains.set(int(g), t.domains.any(t.m.groups.words[g]))
}

// wanted is the set of a filter's values: nil without a filter.
func (m *mirror) wanted(values []string) wordSet {
	if len(values) == 0 {
		return nil
	}
	set := wordSet{}
	for _, v := range values {
		if w, known := m.words.ids[v]; known {
			set = set.with(w)
		}
	}
	return set
}

func one(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}
