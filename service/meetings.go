package service

import (
	"context"
	"errors"
	"net/http"
	"sort"

	"minutebook/api"
	"minutebook/archive"
)

// errOAuthContent is the service's own text for 5.7.
var errOAuthContent = badRequest("OAuth users are not allowed to include summary or transcript in this request. " +
	"Please use /recordings endpoint instead.")

// getMeetings is GET /meetings (4.1).
func (s *Service) getMeetings(w http.ResponseWriter, r *http.Request, c caller) error {
	q, err := parseMeetingsQuery(r.URL.Query())
	if err != nil {
		return err
	}
	if c.oauth && q.contentAsked() {
		return errOAuthContent
	}
	var after *position
	if q.cursor != "" {
		fields, err := s.cursors.open(q.cursor, "meetings", c.id, q.filters, 2)
		if err != nil {
			return err
		}
		p, err := parsePosition(fields)
		if err != nil {
			return err
		}
		if after = &p; s.faults.roll(faultCursor, faultKey(r)) {
			return errCursor
		}
	}
	page := s.mirror.page(c.email, &q, after)
	ids := page.ids
	if after != nil && s.faults.roll(faultRepeat, faultKey(r)) {
		if _, ok := s.mirror.get(after.id, c.email); ok {
			ids = append([]int64{after.id}, ids...)
		}
	}
	items, err := s.compose(r.Context(), ids, q.include)
	if err != nil {
		return err
	}
	next := "null"
	if page.more {
		next = `"` + s.cursors.seal("meetings", c.id, q.filters, page.last.fields()...) + `"`
	}
	writeBody(w, http.StatusOK, meetingsEnvelope(items, next))
	return nil
}

// meetingsEnvelope writes the list of 2.1 around items that are written
// already, so that no byte of a transcript is touched.
func meetingsEnvelope(items [][]byte, next string) []byte {
	size := 64 + len(next)
	for _, item := range items {
		size += len(item) + 1
	}
	body := make([]byte, 0, size)
	body = append(body, `{"limit":10,"next_cursor":`...)
	body = append(body, next...)
	body = append(body, `,"items":[`...)
	for i, item := range items {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, item...)
	}
	return append(body, `]}`...)
}

// compose writes meetings with the parts asked for. One that was forgotten
// since the page was found is left out.
func (s *Service) compose(ctx context.Context, ids []int64, include []partName) ([][]byte, error) {
	many, err := s.archive.PartsOfMany(ctx, ids, append([]partName{api.PartMeeting}, include...))
	if err != nil {
		return nil, err
	}
	items := make([][]byte, 0, len(ids))
	for _, id := range ids {
		parts := many[id]
		if parts == nil { // nothing asked for is known of it, or it was forgotten
			_, err := s.archive.Row(ctx, id)
			if errors.Is(err, archive.ErrNotFound) || errors.Is(err, archive.ErrForgotten) {
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		s.faults.lateParts(id, parts)
		item, err := s.strict.composeMeeting(id, parts, include)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

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
			e := m.order[i]
			return e.start < after.start || e.start == after.start && e.id < after.id
		})
	}
	for ; i < len(m.order); i++ {
		e := m.order[i]
		p.looked++
		if !match(e) {
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

// matcher turns a query into a test of entries. Who sees an entry is asked first,
// and a value that occurs nowhere is looked for like any other, so that how long
// it takes says nothing of what the caller does not see. Caller holds mu.
func (m *mirror) matcher(email string, q *meetingsQuery) func(*entry) bool {
	sees := m.sees(email)
	types, domainsType := m.wanted(one(q.meetingType)), m.wanted(one(q.domainsType))
	domains, recorders, teams := m.wanted(q.domains), m.wanted(q.recordedBy), m.wanted(q.teams)
	onlyInternal := len(q.recordedBy) == 0 && len(q.teams) == 0
	outside := map[word]bool{}
	return func(e *entry) bool {
		switch {
		case !sees.any(e.principals),
			types != nil && !types.has(e.meetingType),
			domainsType != nil && !domainsType.has(e.domainsType),
			recorders != nil && !recorders.has(e.recorder),
			teams != nil && !teams.has(e.team),
			q.after != 0 && e.created <= q.after,
			q.before != 0 && (e.created == 0 || e.created >= q.before),
			domains != nil && !domains.any(e.domains):
			return false
		}
		return !onlyInternal || !m.outside(outside, e.recorder)
	}
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

// outside tells whether a recorder is external to the organisation, and
// remembers it in seen. A recording without a recorder's address is not.
func (m *mirror) outside(seen map[word]bool, recorder word) bool {
	external, known := seen[recorder]
	if !known {
		email := m.words.texts[recorder]
		external = email != "" && m.dir.external(email)
		seen[recorder] = external
	}
	return external
}
