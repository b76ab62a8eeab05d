package search

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"minutebook/archive"
	"minutebook/search/query"
	"minutebook/search/segment"
	"minutebook/search/text"
)

// scope narrows where the words of a group are looked for.
type scope struct {
	fields   []string // nil means everywhere
	speakers []string // one or more of speaker: values, all of which must speak
}

// eval finds the visible meetings that a part of the query holds for. Words
// that are optional (stop words, and all words of a loosened query) hold
// everywhere; what they find is left in their leaves for ranking.
func (v *view) eval(n query.Node, leaves map[query.Node]*leaf, in scope, optional bool) (docset, error) {
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	switch n := n.(type) {
	case *query.And:
		return v.evalAnd(n, leaves, in, optional)
	case *query.Or:
		out := v.none()
		for _, kid := range n.Kids {
			found, err := v.eval(kid, leaves, in, false)
			if err != nil {
				return nil, err
			}
			out.or(found)
		}
		return out, nil
	case *query.Not:
		v.negated = !v.negated
		found, err := v.eval(n.Kid, leaves, in, false)
		v.negated = !v.negated
		if err != nil {
			return nil, err
		}
		return v.all().without(found), nil
	case *query.Filter:
		return v.filter(n)
	default:
		return v.evalLeaf(leaves[n], in, optional)
	}
}

func (v *view) evalAnd(n *query.And, leaves map[query.Node]*leaf, in scope, optional bool) (docset, error) {
	for _, kid := range n.Kids {
		f, ok := kid.(*query.Filter)
		switch {
		case ok && f.Field == "in":
			in.fields = append(in.fields[:len(in.fields):len(in.fields)], partField(f.Value))
		case ok && f.Field == "speaker":
			in.speakers = append(in.speakers[:len(in.speakers):len(in.speakers)], f.Value)
		}
	}
	out := v.all()
	for _, kid := range n.Kids {
		if f, ok := kid.(*query.Filter); ok && f.Field == "in" {
			continue
		}
		found, err := v.eval(kid, leaves, in, optional)
		if err != nil {
			return nil, err
		}
		out.and(found)
	}
	if len(in.fields) > 0 && !query.HasWords(n) {
		return v.havingAny(n, out)
	}
	return out, nil
}

// havingAny keeps the meetings with something in one of the parts that a group
// without words names.
func (v *view) havingAny(n *query.And, out docset) (docset, error) {
	any := v.none()
	for _, kid := range n.Kids {
		f, ok := kid.(*query.Filter)
		if !ok || f.Field != "in" {
			continue
		}
		found, err := v.having(f.Value)
		if err != nil {
			return nil, err
		}
		any.or(found)
	}
	return out.and(any), nil
}

func (v *view) evalLeaf(l *leaf, in scope, optional bool) (docset, error) {
	if l == nil {
		return v.all(), nil
	}
	found, err := v.find(l, in)
	if err != nil {
		return nil, err
	}
	l.meetings = found
	if optional || l.stop {
		return v.all(), nil
	}
	return v.none().or(found), nil
}

// find is the set of visible meetings that have a leaf.
func (v *view) find(l *leaf, in scope) (docset, error) {
	if len(l.terms) > 0 {
		return v.findPhrase(l, in)
	}
	forms, err := v.formsOf(l.key)
	if err != nil {
		return nil, err
	}
	l.forms = forms
	if len(in.speakers) > 0 {
		terms := termsIn(forms, segment.FieldText)
		return v.saidBy(in, func(m *momentSegment, by *roaring.Bitmap) (*roaring.Bitmap, error) {
			docs, err := m.any(segment.FieldText, terms)
			if err == nil {
				docs.And(by)
			}
			return docs, err
		})
	}
	terms := map[string][]string{}
	for _, field := range in.in() {
		in, list := field, termsIn(forms, field)
		if field == segment.FieldCRM && !v.everything {
			in, list = segment.FieldKeys, v.crmKeys(list...)
		}
		terms[in] = append(terms[in], list...)
	}
	return v.withAny(terms)
}

func (s scope) in() []string {
	if len(s.fields) > 0 {
		return s.fields
	}
	return textFields()
}

// filter is the set of visible meetings that a filter holds for.
func (v *view) filter(f *query.Filter) (docset, error) {
	folded := text.Fold(f.Value)
	lower := strings.ToLower(f.Value)
	switch f.Field {
	case "speaker":
		return v.people(keySpeaker, f.Value)
	case "person":
		return v.people(keyPerson, f.Value)
	case "recorded-by":
		return v.people(keyRecorder, f.Value)
	case "assignee":
		return v.people(keyAssignee, f.Value)
	case "email":
		return v.withKeys(keyEmail + lower)
	case "domain":
		return v.withKeys(keyDomain + strings.TrimPrefix(lower, "@"))
	case "team":
		return v.withKeys(keyTeam + folded)
	case "type":
		return v.withKeys(keyType + folded)
	case "language":
		return v.withKeys(keyLanguage+lower, keyLanguage+text.BaseCode(lower))
	case "account":
		return v.through(f.Value)
	case "has":
		return v.having(lower)
	case "is":
		return v.withKeys(keyIs + lower)
	case "action":
		return v.withKeys(keyAction + lower)
	case "in":
		return v.having(lower)
	case "title":
		if l := phraseLeaf(f.Value); l != nil {
			l.key.field = segment.FieldText
			return v.find(l, scope{fields: []string{segment.FieldTitle}})
		}
		return v.all(), nil
	case "id":
		id, err := strconv.ParseInt(f.Value, 10, 64)
		out := v.none()
		v.addMeeting(out, id)
		return out, err
	}
	return v.timed(f)
}

// having is the set of meetings with something in a part; every meeting has a
// title.
func (v *view) having(part string) (docset, error) {
	if part == "title" {
		return v.all(), nil
	}
	if part == "crm" {
		return v.havingCRM()
	}
	return v.withKeys(keyHas + part)
}

// through is the set of meetings that an account is shown, whoever holds it and
// by whichever list query.
func (v *view) through(account string) (docset, error) {
	plain := keySees + archive.AccountPrincipal(account)
	keys := []string{plain}
	for _, more := range []string{"#", "/"} {
		found, err := v.scan(segment.FieldKeys, plain+more, func(string) bool { return true })
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			keys = append(keys, f.term)
		}
	}
	return v.withKeys(keys...)
}

// people finds meetings by a name, a word of it, the beginning of one with a
// star, or an address.
func (v *view) people(kind, value string) (docset, error) {
	keys, err := v.personKeys(kind, value)
	if err != nil {
		return nil, err
	}
	return v.withKeys(keys...)
}

func (v *view) personKeys(kind, value string) ([]string, error) {
	if begin, ok := strings.CutSuffix(value, "*"); ok && begin != "" {
		found, err := v.scan(segment.FieldKeys, kind+text.Fold(begin), func(string) bool { return true })
		keys := make([]string, 0, len(found))
		for _, f := range found {
			keys = append(keys, f.term)
		}
		return keys, err
	}
	return []string{kind + text.Fold(value), kind + strings.ToLower(value)}, nil
}

// timed is the set of meetings that a filter on time or length holds for.
func (v *view) timed(f *query.Filter) (docset, error) {
	switch f.Field {
	case "longer", "shorter":
		d, err := query.ParseDuration(f.Value)
		if err != nil {
			return nil, err
		}
		bound := int32(d / time.Second)
		return v.where(func(c *columns, doc uint32) bool {
			if f.Field == "longer" {
				return c.seconds[doc] > bound
			}
			return c.seconds[doc] < bound
		}), nil
	case "last":
		from, err := query.LastSpan(f.Value, v.now)
		if err != nil {
			return nil, err
		}
		return v.between(from, time.Time{}), nil
	case "after", "before", "on":
		from, to, err := query.DateSpan(f.Value, v.now, v.loc)
		if err != nil {
			return nil, err
		}
		switch f.Field {
		case "after":
			return v.between(from, time.Time{}), nil
		case "before":
			return v.between(time.Time{}, from), nil
		}
		return v.between(from, to), nil
	}
	return nil, fmt.Errorf("search by %s: no such field", f.Field)
}

// between is the set of meetings that begin at or after from and before to; a
// zero bound is none.
func (v *view) between(from, to time.Time) docset {
	low, high := int64(-1<<62), int64(1<<62)
	if !from.IsZero() {
		low = from.UnixMilli()
	}
	if !to.IsZero() {
		high = to.UnixMilli()
	}
	return v.where(func(c *columns, doc uint32) bool { return c.start[doc] >= low && c.start[doc] < high })
}
