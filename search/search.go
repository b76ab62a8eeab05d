package search

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"minutebook/search/query"
	"minutebook/search/segment"
)

// Bounds of an answer.
const (
	defaultMeetings = 10
	maxMeetings     = 100
	defaultMoments  = 3
	maxMoments      = 20
)

// Search answers a request. It fails with a *QueryError when the query cannot
// be read, with ErrCursor when Request.After is not of this query, and with
// ErrDamaged.
func (x *Index) Search(ctx context.Context, r Request) (_ *Answer, err error) {
	q, err := query.Parse(r.Query)
	if err != nil {
		return nil, err
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			x.log.Error().Any("panic", p).Bytes("stack", debug.Stack()).Msg("search")
			err = fmt.Errorf("%v: %w", p, segment.ErrDamaged)
		}
		if errors.Is(err, segment.ErrDamaged) {
			x.distrust(err.Error())
			err = segment.ErrDamaged
		}
	}()
	r.Limit = bounded(r.Limit, defaultMeetings, maxMeetings)
	r.Moments = bounded(r.Moments, defaultMoments, maxMoments)
	after, err := readCursor(r.After, q.String())
	if err != nil {
		return nil, err
	}
	v, err := x.view(ctx, r)
	if err != nil {
		return nil, err
	}
	defer v.close()
	answer, err := v.answer(r, q, after)
	if err != nil {
		return nil, err
	}
	answer.Progress = x.Progress()
	return answer, nil
}

func bounded(n, def, most int) int {
	if n <= 0 {
		return def
	}
	return min(n, most)
}

// answer runs the query: what matches, in which order, and how it looks.
func (v *view) answer(r Request, q *query.Query, after *cursor) (*Answer, error) {
	f, err := v.match(q)
	if err != nil {
		return nil, err
	}
	a := &Answer{Total: f.set.size(), Relaxed: f.relaxed}
	if after == nil {
		if a.DidYouMean, err = v.suggest(q, f.byNode); err != nil {
			return nil, err
		}
	}
	page, next, err := v.page(f, q, r, after)
	if err != nil {
		return nil, err
	}
	a.Next = next
	if a.Meetings, err = v.show(page, f, r); err != nil {
		return nil, err
	}
	a.Exact = !v.inexact
	if r.Facets {
		if a.Facets, err = v.facets(f.set); err != nil {
			return nil, err
		}
	}
	if r.Histogram {
		a.Histogram = v.histogram(f.set)
	}
	return a, nil
}

// found is what a query matches.
type found struct {
	set     docset
	leaves  []*leaf // to rank and highlight by
	byNode  map[query.Node]*leaf
	in      scope // of the whole query
	relaxed string
}

// match finds the meetings that a query holds for. Where it is a question in
// plain words, or no meeting has all its words, the ones that have most of its
// rarest words are taken.
func (v *view) match(q *query.Query) (*found, error) {
	leaves := v.leavesOf(q.Root)
	f := &found{leaves: asked(q.Root, leaves), byNode: leaves, in: topScope(q.Root)}
	question := query.IsQuestion(q.Root)
	for _, l := range f.leaves {
		l.asks = question && query.IsAskingWord(l.key.term)
	}
	var err error
	if !question {
		if f.set, err = v.eval(q.Root, leaves, scope{}, false); err != nil {
			return nil, err
		}
		if f.set.size() > 0 || !query.IsPlain(q.Root) || len(f.leaves) < 2 {
			return f, nil
		}
	}
	if f.set, err = v.eval(q.Root, leaves, scope{}, true); err != nil {
		return nil, err
	}
	f.set.and(v.mostOf(f.leaves))
	if f.set.size() == 0 {
		return f, nil
	}
	f.relaxed = "No meeting has all of these words; these have the most of the rarest."
	if question {
		f.relaxed = "Read as a question: these have the most of its rarest words."
	}
	return f, nil
}

// topScope is the scope of the query's outermost group.
func topScope(root query.Node) scope {
	var in scope
	kids := []query.Node{root}
	if and, ok := root.(*query.And); ok {
		kids = and.Kids
	}
	for _, kid := range kids {
		if f, ok := kid.(*query.Filter); ok && f.Field == "in" {
			in.fields = append(in.fields, partField(f.Value))
		} else if ok && f.Field == "speaker" {
			in.speakers = append(in.speakers, f.Value)
		}
	}
	return in
}

// leastShare is the share of the best meeting's words, weighed by rarity, that
// a meeting must have where a query is loosened.
const leastShare = 0.5

// mostOf is the set of meetings that have the most of the rarest leaves.
func (v *view) mostOf(leaves []*leaf) docset {
	weight := v.weigh(leaves)
	var most float64
	for _, docs := range weight {
		for _, w := range docs {
			most = max(most, w)
		}
	}
	out := v.none()
	for i, docs := range weight {
		for doc, w := range docs {
			if most > 0 && w >= leastShare*most {
				out[i].Add(uint32(doc))
			}
		}
	}
	return out
}

// weigh adds up, for each meeting, the rarities of the leaves it has.
func (v *view) weigh(leaves []*leaf) [][]float64 {
	out := make([][]float64, len(v.segments))
	for i, seg := range v.segments {
		out[i] = make([]float64, seg.FullSize())
	}
	for _, l := range leaves {
		if l.stop || l.meetings == nil {
			continue
		}
		w := rarity(l.meetings.size(), v.count) * v.x.tuning.of(l)
		for i, docs := range l.meetings {
			for it := docs.Iterator(); it.HasNext(); {
				out[i][it.Next()] += w
			}
		}
	}
	return out
}
