package search

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"minutebook/archive"
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
		return s.withNote(f.Value)
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

// namesOf returns the names and addresses of the person with a value, the value first. A
// value that is in no visible meeting stays alone: that somebody merged it says something
// of the meetings that the viewer does not see.
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
	if len(names) == 1 {
		return names, nil
	}
	for _, kind := range []string{keyPerson, keyEmail, keyRecorder, keyAssignee} {
		if seen, err := s.withName(kind, value); err != nil || seen.size() > 0 {
			return names, err
		}
	}
	return names[:1], nil
}

// withNote finds the meetings with a note that has words.
func (s *snapshot) withNote(words string) (meetingSet, error) {
	out := s.empty()
	found, err := s.findNotes(words)
	for id := range found {
		s.addMeeting(out, id)
	}
	return out, err
}

// findNotes returns the moments of the notes with words, by meeting.
func (s *snapshot) findNotes(words string) (map[int64][]Moment, error) {
	found, ok := s.remarks[words]
	if ok || s.notes == nil {
		return found, nil
	}
	found = map[int64][]Moment{}
	err := s.notes(s.ctx, words, func(id int64, at time.Duration, text string) {
		found[id] = append(found[id], Moment{Offset: at, Entry: -1, Text: text, Part: PartNotes})
	})
	if err != nil {
		return nil, fmt.Errorf("look for notes: %w", err)
	}
	if s.remarks == nil {
		s.remarks = map[string]map[int64][]Moment{}
	}
	s.remarks[words] = found
	return found, nil
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
