package search

import (
	"strings"

	"minutebook/search/segment"
	"minutebook/search/text"
)

// speakerKeys returns the keys, in moments, of the speakers that a value may stand
// for: a name, a word of one, an address, or the beginning of any with a star.
func (s *snapshot) speakerKeys(value string) ([]string, error) {
	if s.format < 2 {
		return s.personKeys(keySpeaker, value)
	}
	names := []string{text.Fold(value) + "\x00", strings.ToLower(value) + "\x00"}
	if begin, ok := strings.CutSuffix(value, "*"); ok && begin != "" {
		names = []string{text.Fold(begin)}
	} else if names[0] == names[1] {
		names = names[:1]
	}
	var keys []string
	for _, name := range names {
		found, err := s.keysWithPrefix(keySpeakerName + name)
		if err != nil {
			return nil, err
		}
		seen := map[string]bool{}
		for _, key := range found {
			_, id, _ := strings.Cut(key, "\x00")
			if !seen[id] {
				seen[id] = true
				keys = append(keys, keySpeaker+id)
			}
		}
	}
	return keys, nil
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
