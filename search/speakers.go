package search

import (
	"maps"
	"slices"
	"strings"

	"minutebook/search/segment"
	"minutebook/search/text"
)

// nameKeys returns the keys, without their kinds, of a name, a word of one or an address; a
// word that punctuation ties together is found in its joined form. With a star at the end of
// the value they are beginnings of keys.
func nameKeys(value string) (keys []string, isBeginning bool) {
	name, isBeginning := strings.CutSuffix(value, "*")
	if name == "" {
		name, isBeginning = value, false
	}
	keys = []string{text.Fold(name), strings.ToLower(name)}
	if terms := text.PhraseTerms(name); len(terms) == 1 {
		keys = append(keys, terms[0])
	}
	slices.Sort(keys)
	return slices.Compact(keys), isBeginning
}

// runKeys returns the keys, without their kinds, that a name must have for a value of three
// characters or more without spaces to be in it. Other values have none.
func runKeys(value string) []string {
	value = strings.TrimSuffix(value, "*")
	if terms := text.PhraseTerms(value); len(terms) > 1 && text.IsUnspacedWord(value) {
		return terms
	}
	return nil
}

// personKeys returns the keys of a kind for a value that is a name, a word of one, an address,
// or the beginning of any with a star.
func (s *snapshot) personKeys(kind, value string) (keys []string, err error) {
	names, isBeginning := nameKeys(value)
	for _, name := range names {
		found := []string{kind + name}
		if isBeginning {
			if found, err = s.keysWithPrefix(kind + name); err != nil {
				return nil, err
			}
		}
		keys = append(keys, found...)
	}
	return keys, nil
}

// withName finds the visible meetings with a person of a kind of keys whom a value may name.
func (s *snapshot) withName(kind, value string) (meetingSet, error) {
	keys, err := s.personKeys(kind, value)
	if err != nil {
		return nil, err
	}
	found, err := s.withKeys(keys...)
	run := runKeys(value)
	if err != nil || len(run) == 0 {
		return found, err
	}
	all := s.visible()
	for _, key := range run {
		with, err := s.withKeys(kind + key)
		if err != nil {
			return nil, err
		}
		all.and(with)
	}
	return found.or(all), nil
}

// isNamed tells whether a value may name a person with some keys.
func isNamed(keys map[string]bool, value string) bool {
	names, isBeginning := nameKeys(value)
	for key := range keys {
		if slices.ContainsFunc(names, func(name string) bool { return key == name || isBeginning && strings.HasPrefix(key, name) }) {
			return true
		}
	}
	run := runKeys(value)
	return len(run) > 0 && !slices.ContainsFunc(run, func(key string) bool { return !keys[key] })
}

// speakerKeys returns the keys, in moments, of the speakers that a value may stand
// for: a name, a word of one, an address, or the beginning of any with a star.
func (s *snapshot) speakerKeys(value string) ([]string, error) {
	if s.format < 2 {
		return s.personKeys(keySpeaker, value)
	}
	names, isBeginning := nameKeys(value)
	keys := map[string]bool{}
	for _, name := range names {
		if !isBeginning {
			name += "\x00"
		}
		found, err := s.speakersUnder(name)
		if err != nil {
			return nil, err
		}
		maps.Copy(keys, found)
	}
	var inRun map[string]bool
	for i, key := range runKeys(value) {
		found, err := s.speakersUnder(key + "\x00")
		if err != nil {
			return nil, err
		}
		if i == 0 {
			inRun = found
		}
		maps.DeleteFunc(inRun, func(key string, _ bool) bool { return !found[key] })
	}
	maps.Copy(keys, inRun)
	return slices.Sorted(maps.Keys(keys)), nil
}

// speakersUnder returns the keys, in moments, of the speakers whose names begin so under
// [keySpeakerName].
func (s *snapshot) speakersUnder(begin string) (map[string]bool, error) {
	found, err := s.keysWithPrefix(keySpeakerName + begin)
	keys := map[string]bool{}
	for _, key := range found {
		_, id, _ := strings.Cut(key, "\x00")
		keys[keySpeaker+id] = true
	}
	return keys, err
}

// maxNamed is how many variants of a word are looked for among the speakers of
// moments.
const maxNamed = 64

// namedSpeakers are the keys of speakers whose name has a variant of a word, and
// the variant's weight.
type namedSpeakers struct {
	keys   []string
	weight float64
}

// speakersNamed finds the speakers that the variants of a word may name.
func (s *snapshot) speakersNamed(variants []variant) ([]namedSpeakers, error) {
	var out []namedSpeakers
	for _, v := range variants[:min(len(variants), maxNamed)] {
		if !v.fields.has(segment.FieldPeople) {
			continue
		}
		keys, err := s.speakerKeys(v.term)
		if err != nil {
			return nil, err
		}
		if len(keys) > 0 {
			out = append(out, namedSpeakers{keys, v.weight})
		}
	}
	return out, nil
}
