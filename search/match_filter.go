package search

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/internal/nearest"
	"minutebook/search/query"
	"minutebook/search/segment"
	"minutebook/search/text"
)

// filter finds the visible meetings that a filter holds for.
func (e evaluation) filter(f *query.Filter) (meetingSet, error) {
	s := e.s
	if keys := filterKeys(f); keys != nil {
		return s.withKeys(keys...)
	}
	switch f.Field {
	case "speaker":
		return s.withPerson(keySpeaker, f.Value)
	case "person":
		return s.withPerson(keyPerson, f.Value)
	case "recorded-by":
		return s.withPerson(keyRecorder, f.Value)
	case "assignee":
		return s.withPerson(keyAssignee, f.Value)
	case "email":
		names, err := s.namesOf(f.Value)
		if err != nil {
			return nil, err
		}
		var keys []string
		for _, name := range names {
			keys = append(keys, keyEmail+strings.ToLower(name))
		}
		return s.withKeys(keys...)
	case "note":
		return s.withNote(f.Value), nil
	case "account":
		return s.withAccount(f.Value)
	case "has", "in":
		return s.withPart(strings.ToLower(f.Value))
	case "title":
		if t := e.terms[f]; t != nil {
			return t.meetings.clone(), nil
		}
		return s.visible(), nil
	case "id":
		id, err := strconv.ParseInt(f.Value, 10, 64)
		out := s.empty()
		s.addMeeting(out, id)
		return out, err
	}
	return e.filterTime(f)
}

// filterKeys returns the keys of the index for a filter whose value is a key, or nil for
// other filters.
func filterKeys(f *query.Filter) []string {
	lower := strings.ToLower(f.Value)
	switch f.Field {
	case "domain":
		return []string{keyDomain + strings.TrimPrefix(lower, "@")}
	case "team":
		return []string{keyTeam + text.Fold(f.Value)}
	case "type":
		return []string{keyType + text.Fold(f.Value)}
	case "language":
		if strings.ContainsAny(lower, "-_") { // the region too
			return []string{keyLanguage + strings.ReplaceAll(lower, "_", "-"), keyLanguage + strings.ReplaceAll(lower, "-", "_")}
		}
		return []string{keyLanguage + lower, keyLanguage + text.BaseCode(lower)}
	case "is":
		return []string{keyIs + lower}
	case "action":
		return []string{keyAction + lower}
	}
	return nil
}

// withPart finds the meetings with something in a part; every meeting has a title.
func (s *snapshot) withPart(part string) (meetingSet, error) {
	if part == "title" {
		return s.visible(), nil
	}
	if part == "crm" {
		return s.withCRM()
	}
	return s.withKeys(keyHas + part)
}

// withAccount finds the meetings that an account is shown, whoever holds it and by
// whichever list query. A person may ask it about their own accounts only.
func (s *snapshot) withAccount(account string) (meetingSet, error) {
	key := keySees + archive.AccountPrincipal(account)
	keys := []string{key}
	for _, more := range []string{"#", "/"} {
		found, err := s.keysWithPrefix(key + more)
		if err != nil {
			return nil, err
		}
		keys = append(keys, found...)
	}
	if !s.seesAll {
		keys = slices.DeleteFunc(keys, func(key string) bool {
			return !slices.Contains(s.principals, strings.TrimPrefix(key, keySees))
		})
	}
	return s.withKeys(keys...)
}

// withPerson finds meetings by a name, a word of it, the beginning of one with a
// star, or an address.
func (s *snapshot) withPerson(kind, value string) (meetingSet, error) {
	names, err := s.namesOf(value)
	if err != nil {
		return nil, err
	}
	out := s.empty()
	for _, name := range names {
		with, err := s.withName(kind, name)
		if err != nil {
			return nil, err
		}
		out.or(with)
	}
	return out, nil
}

// namesOf returns the names and addresses of the person with a value, the value first. Those
// that no visible meeting has are left out, and beside such a value all others: that somebody
// merged them says something of the meetings that the viewer does not see.
func (s *snapshot) namesOf(value string) ([]string, error) {
	names := []string{value}
	if s.samePerson == nil {
		return names, nil
	}
	for _, name := range s.samePerson(value) {
		if name != value {
			names = append(names, name)
		}
	}
	if len(names) == 1 || s.seesAll {
		return names, nil
	}
	var seen []string
	for i, name := range names {
		sees, err := s.seesName(name)
		if err != nil || i == 0 && !sees {
			return names[:1], err
		}
		if sees {
			seen = append(seen, name)
		}
	}
	return seen, nil
}

// seesName reports whether somebody in a visible meeting has a name or an address, as a whole. A
// key of one word may come from a longer name, so that such a name must be a participant's.
func (s *snapshot) seesName(name string) (bool, error) {
	fold, lower := text.Fold(name), strings.ToLower(name)
	if strings.ContainsAny(fold, " @") {
		with, err := s.withKeys(keyPerson+fold, keyPerson+lower, keyAssignee+fold, keyAssignee+lower)
		return with.size() > 0, err
	}
	if s.people == nil {
		s.people = s.countMany(multiPeople)
	}
	return slices.ContainsFunc(s.x.columns.spelled(name), func(n uint32) bool { return int(n) < len(s.people) && s.people[n] > 0 }), nil
}

// withNote finds the meetings with a note that matches a value of note:.
func (s *snapshot) withNote(value string) meetingSet {
	out := s.empty()
	for id := range s.remarks[value] {
		s.addMeeting(out, id)
	}
	return out
}

// findNotes reads the notes once for all values of note: in a query, and keeps the moments of
// those that match one. Notes on meetings that the viewer does not see are not looked at.
func (s *snapshot) findNotes(root query.Node) error {
	s.remarks = map[string]map[int64][]Moment{}
	asked := map[string]func(*text.Sequence) bool{}
	query.Walk(root, false, func(n query.Node, _ bool) {
		if f, ok := n.(*query.Filter); ok && f.Field == "note" {
			s.remarks[f.Value], asked[f.Value] = map[int64][]Moment{}, s.saysOf(f.Value)
		}
	})
	if len(asked) == 0 || s.notes == nil {
		return nil
	}
	var words text.Sequence
	err := s.notes(s.ctx, s.within, func(id int64, at time.Duration, note string) {
		if _, _, ok := s.place(id); !ok {
			return
		}
		words.Read(note)
		for value, says := range asked {
			if says(&words) {
				s.remarks[value][id] = append(s.remarks[value][id], Moment{Offset: at, Entry: -1, Text: note, Part: PartNotes})
			}
		}
	})
	if err != nil {
		return fmt.Errorf("look for notes: %w", err)
	}
	return nil
}

// saysOf returns a function that reports whether a text has a word or a phrase, which may have
// the mark of a beginning or of a fuzzy word behind it.
func (s *snapshot) saysOf(value string) func(*text.Sequence) bool {
	words := strings.TrimRight(value, "*~")
	marks := value[len(words):]
	t := newTerm(words, strings.Contains(marks, "*"))
	if t == nil {
		return func(*text.Sequence) bool { return false }
	}
	if len(t.phrase) > 0 {
		return func(w *text.Sequence) bool {
			first, _ := w.FindPhrase(t.phrase, 0)
			return first >= 0
		}
	}
	t.word.fuzzy = strings.Contains(marks, "~")
	isForm := s.isFormOf(t.word)
	return func(w *text.Sequence) bool {
		return slices.ContainsFunc(w.Words, func(word text.Token) bool { return isForm(word.Term) }) ||
			slices.ContainsFunc(w.Joined, func(word text.JoinedWord) bool { return isForm(word.Term) })
	}
}

// isFormOf returns a function that reports whether a word is one of those that variantsOf finds
// in the index.
func (s *snapshot) isFormOf(key wordKey) func(term string) bool {
	if key.isBeginning() {
		return func(term string) bool { return strings.HasPrefix(term, key.term) }
	}
	if key.fuzzy {
		edits := maxEdits(key.term)
		return remember(func(term string) bool { return nearest.Distance(term, key.term) <= edits })
	}
	stems := s.stemsOf(key.term)
	isForm := func(term string) bool {
		return term == key.term || slices.ContainsFunc(stems, func(st stem) bool { return st.isOf(term) })
	}
	if slices.ContainsFunc(stems, func(st stem) bool { return st.lang.DropsPrefixes() }) { // all words are stemmed
		return remember(isForm)
	}
	return isForm
}

// maxRemembered is how many words a function remembers: as many as a few thousand notes have.
const maxRemembered = 1 << 16

// remember returns a function that asks another one about a word that comes again only once.
func remember(fn func(term string) bool) func(term string) bool {
	known := map[string]bool{}
	return func(term string) bool {
		answer, ok := known[term]
		if !ok {
			if answer = fn(term); len(known) < maxRemembered {
				known[strings.Clone(term)] = answer // the term is a piece of its note
			}
		}
		return answer
	}
}

// filterTime finds the visible meetings that a filter on time or length holds for.
func (e evaluation) filterTime(f *query.Filter) (meetingSet, error) {
	s := e.s
	switch f.Field {
	case "longer", "shorter":
		d, err := query.ParseDuration(f.Value)
		if err != nil {
			return nil, err
		}
		bound := int32(min(d/time.Second, math.MaxInt32))
		return s.filterVisible(func(c *columns, doc uint32) bool {
			if f.Field == "longer" {
				return c.seconds[doc] > bound
			}
			return c.seconds[doc] < bound && c.seconds[doc] > 0 // of a length that is known
		}), nil
	case "last":
		from, err := query.LastSpan(f.Value, e.at.now.In(e.at.loc))
		return s.startingBetween(from.UnixMilli(), e.at.now.UnixMilli()), err
	case "on":
		from, to, err := query.DateSpan(f.Value, e.at.now, e.at.loc)
		return s.startingBetween(from.UnixMilli(), to.UnixMilli()), err
	case "after":
		from, err := query.DateStart(f.Value, e.at.now, e.at.loc)
		return s.startingBetween(from.UnixMilli(), math.MaxInt64), err
	case "before":
		to, err := query.DateStart(f.Value, e.at.now, e.at.loc)
		return s.startingBetween(math.MinInt64, to.UnixMilli()), err
	}
	return nil, fmt.Errorf("search by %s: no such field", f.Field)
}

// startingBetween finds the meetings that begin at or after from and before to, in Unix
// milliseconds. Of a meeting without a date nothing is known.
func (s *snapshot) startingBetween(from, to int64) meetingSet {
	return s.filterVisible(func(c *columns, doc uint32) bool {
		return c.start[doc] >= from && c.start[doc] < to && c.start[doc] != 0
	})
}

// keysWithPrefix lists the keys that begin so.
func (s *snapshot) keysWithPrefix(prefix string) ([]string, error) {
	found := make([][]string, len(s.segments))
	err := s.parallel(len(found), func(i int) error {
		_, err := s.segments[i].terms.Scan(segment.FieldKeys, prefix, math.MaxInt, s.among(i), func(string) bool { return true }, func(key string, _ int) {
			found[i] = append(found[i], key)
		})
		return err
	})
	keys := slices.Concat(found...)
	slices.Sort(keys)
	return slices.Compact(keys), err
}
