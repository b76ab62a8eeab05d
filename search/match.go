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
}

// clock is the instant and the place that dates in a query are relative to.
type clock struct {
	now time.Time
	loc *time.Location
}

// match finds the meetings that a query holds for. Where the query is a question
// in plain words, or no meeting has all its words, it finds those that have most
// of its rarest words.
func (s *snapshot) match(q *query.Query, at clock) (*matches, error) {
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
	if !p.question {
		if m.set, err = e.evaluateRead(m, q.Root, false); err != nil {
			return nil, err
		}
		if m.set.size() > 0 || s.whole || !query.IsPlain(q.Root) || len(m.terms) < 2 {
			return m, m.readOthers(s)
		}
	}
	if m.set, err = e.evaluateRead(m, q.Root, true); err != nil {
		return nil, err
	}
	if err := m.readOthers(s); err != nil {
		return nil, err
	}
	m.set.and(s.withMost(m.terms, m.set))
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

// withMost finds the meetings that have the most of the rarest terms: at least leastShare of
// those that the best meeting of a set has.
func (s *snapshot) withMost(terms []*termMatch, among meetingSet) meetingSet {
	weights := s.sumRarities(terms)
	var most float64
	for i, docs := range among {
		eachDocument(docs, func(doc uint32) { most = max(most, weights[i][doc]) })
	}
	out := s.empty()
	for i, docs := range weights {
		for doc, w := range docs {
			if most > 0 && w >= leastShare*most {
				out[i].Add(uint32(doc))
			}
		}
	}
	return out
}

// sumRarities adds up, for each meeting by segment and document, the rarities of
// the terms it has.
func (s *snapshot) sumRarities(terms []*termMatch) [][]float64 {
	out := make([][]float64, len(s.segments))
	for i, m := range s.segments {
		out[i] = make([]float64, m.seg.FullSize())
	}
	for _, t := range terms {
		if t.stop {
			continue
		}
		w := rarity(t.meetings.size(), s.visibleCount) * s.x.tuning.shareOf(t)
		for i, docs := range t.meetings {
			eachDocument(docs, func(doc uint32) { out[i][doc] += w })
		}
	}
	return out
}
