package search

import (
	"slices"
	"time"

	"minutebook/search/query"
)

// matches are the meetings that a query holds for, and its terms as the index has
// them.
type matches struct {
	set     meetingSet
	terms   []*termMatch // to rank and quote by, in the order of the query
	byNode  map[query.Node]*termMatch
	checked []*termMatch // phrases that meetings are read for
	scope   scope        // of the query's outermost group
	parts   []query.Node // that must all hold
	exact   bool         // false: phrases were checked only in the newest meetings, or a beginning has more words than were looked for
	relaxed string       // how the query was loosened, for people
	least   *loosening   // of a query that was loosened
}

// clock is the instant and the place that dates in a query are relative to.
type clock struct {
	now time.Time
	loc *time.Location
}

// match finds the meetings that a query holds for. Where the query is a question
// in plain words, or no meeting has all its words, it finds those that have most
// of its rarest words. A further page is loosened as the first was, whatever has
// arrived; after is nil for the first.
func (s *snapshot) match(q *query.Query, at clock, after *cursor) (*matches, error) {
	p, err := s.planQuery(q.Root)
	if err != nil {
		return nil, err
	}
	m, err := s.findTerms(p)
	if err != nil {
		return nil, err
	}
	m.parts = q.Parts()
	if err := s.findNotes(q.Root); err != nil {
		return nil, err
	}
	e := evaluation{s, m.byNode, at}
	if after != nil {
		m.least = after.Least
	}
	if after == nil && !p.question || after != nil && m.least == nil {
		if m.set, err = e.evaluateRead(m, q.Root, false); err != nil {
			return nil, err
		}
		if after != nil || m.set.size() > 0 || s.whole || !query.IsPlain(q.Root) || len(m.terms) < 2 {
			return m, m.readOthers(s)
		}
	}
	if m.set, err = e.evaluateRead(m, q.Root, true); err != nil {
		return nil, err
	}
	if err := m.readOthers(s); err != nil {
		return nil, err
	}
	if m.least == nil {
		m.least = s.loosen(m.terms, m.set)
	}
	if len(m.least.Weights) != len(m.terms) {
		return nil, ErrCursor
	}
	m.set.and(s.withMost(m.terms, m.least))
	switch {
	case m.set.size() == 0:
	case p.question:
		m.relaxed = "Read as a question: these have the most of its rarest words."
	default:
		m.relaxed = "No meeting has all of these words; these have the most of the rarest."
	}
	return m, nil
}

// findTerms looks the terms of a plan up.
func (s *snapshot) findTerms(p *plan) (*matches, error) {
	m := &matches{byNode: map[query.Node]*termMatch{}, scope: p.scope, exact: true}
	budget := s.newReadBudget()
	for _, t := range p.terms {
		found, err := s.findTerm(t, budget)
		if err != nil {
			return nil, err
		}
		m.byNode[t.node] = found
		m.exact = m.exact && (found.areAll || s.within != 0) // a meeting alone is not counted
		if found.check != nil {
			m.checked = append(m.checked, found)
		}
		if !t.negated && !t.filter {
			m.terms = append(m.terms, found)
		}
	}
	slices.SortStableFunc(m.checked, func(a, b *termMatch) int { return a.check.cost() - b.check.cost() })
	return m, nil
}

// evaluation works out which visible meetings a tree holds for, given those that
// have its terms.
type evaluation struct {
	s     *snapshot
	terms map[query.Node]*termMatch
	at    clock
}

// evaluateRead is evaluate for the whole tree. For each phrase it reads only meetings for
// which the rest of the query may hold, so that the old ones that a filter asks for are not
// lost behind newer ones.
func (e evaluation) evaluateRead(m *matches, root query.Node, optional bool) (meetingSet, error) {
	for _, t := range m.checked {
		among, err := e.evaluate(root, optional)
		if err == nil {
			err = t.check.read(among)
		}
		if err != nil {
			return nil, err
		}
		m.exact = t.check.settle(among) && m.exact
		t.meetings = t.check.bound()
	}
	return e.evaluate(root, optional)
}

// readOthers reads, as far as the budget lasts, the meetings that a phrase waits for and the
// rest of the query leaves out: how rare the phrase is does not depend on the rest, and facets
// are counted without parts of it.
func (m *matches) readOthers(s *snapshot) error {
	all := s.visible()
	for _, t := range m.checked {
		if s.within == 0 {
			if err := t.check.read(all); err != nil {
				return err
			}
		}
		t.check.settle(all)
		t.meetings = t.check.bound()
	}
	return nil
}

// evaluate returns a new set of the meetings that a part of the tree holds for.
// Optional terms (stop words, and all words of a loosened query) hold everywhere.
func (e evaluation) evaluate(n query.Node, optional bool) (meetingSet, error) {
	if err := e.s.ctx.Err(); err != nil {
		return nil, err
	}
	switch n := n.(type) {
	case *query.And:
		return e.evaluateAnd(n, optional)
	case *query.Or:
		out := e.s.empty()
		for _, kid := range n.Kids {
			found, err := e.evaluate(kid, false)
			if err != nil {
				return nil, err
			}
			out.or(found)
		}
		return out, nil
	case *query.Not:
		found, err := e.evaluate(n.Kid, false)
		if err != nil {
			return nil, err
		}
		return e.s.visible().andNot(found), nil
	case *query.Filter:
		return e.filter(n)
	}
	t := e.terms[n]
	if t == nil || optional || t.stop {
		return e.s.visible(), nil
	}
	return t.meetings.clone(), nil
}

// evaluateAnd is evaluate for a group. Its in: filters are in the scopes of its
// terms; a group without terms asks that one of the parts is there.
func (e evaluation) evaluateAnd(n *query.And, optional bool) (meetingSet, error) {
	out := e.s.visible()
	var parts meetingSet
	hasWords := query.HasWords(n)
	for _, kid := range n.Kids {
		field, _ := query.ValuesOf(kid)
		isIn := field == "in"
		if isIn && hasWords {
			continue
		}
		found, err := e.evaluate(kid, optional)
		switch {
		case err != nil:
			return nil, err
		case !isIn:
			out.and(found)
		case parts == nil:
			parts = found
		default:
			parts.or(found)
		}
	}
	if parts != nil {
		out.and(parts)
	}
	return out, nil
}

// leastShare is the share of the best meeting's words, weighted by rarity, that
// a meeting must have where a query is loosened.
const leastShare = 0.5

// loosening has the weights of the terms of a loosened query, and the least sum of them with
// which it finds a meeting.
type loosening struct {
	Weights []float32 `json:"w"` // of the query's terms
	Least   float64   `json:"m"`
}

// loosen weighs terms by their rarity. A meeting needs at least leastShare of the weight of
// the best meeting of a set.
func (s *snapshot) loosen(terms []*termMatch, among meetingSet) *loosening {
	out := &loosening{Weights: make([]float32, len(terms))}
	for i, t := range terms {
		if !t.stop {
			out.Weights[i] = float32(rarity(t.meetings.size(), s.visibleCount) * s.x.tuning.shareOf(t))
		}
	}
	weights := s.sumWeights(terms, out.Weights)
	for i, docs := range among {
		eachDocument(docs, func(doc uint32) { out.Least = max(out.Least, leastShare*weights[i][doc]) })
	}
	return out
}

// withMost finds the meetings that have terms of enough weight.
func (s *snapshot) withMost(terms []*termMatch, enough *loosening) meetingSet {
	out := s.empty()
	for i, docs := range s.sumWeights(terms, enough.Weights) {
		for doc, w := range docs {
			if w > 0 && w >= enough.Least {
				out[i].Add(uint32(doc))
			}
		}
	}
	return out
}

// sumWeights adds up, for each meeting by segment and document, the weights of the terms
// that it has.
func (s *snapshot) sumWeights(terms []*termMatch, weights []float32) [][]float64 {
	out := make([][]float64, len(s.segments))
	for i, m := range s.segments {
		out[i] = make([]float64, m.seg.FullSize())
	}
	for n, t := range terms {
		w := float64(weights[n])
		if w == 0 {
			continue
		}
		for i, docs := range t.meetings {
			eachDocument(docs, func(doc uint32) { out[i][doc] += w })
		}
	}
	return out
}
