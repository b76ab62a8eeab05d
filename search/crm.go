package search

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/search/segment"
	"minutebook/search/text"
)

// CRM matches are searched by whom they are shown to: [segment.FieldCRM] has the
// words of all of them and is asked for a viewer who sees all meetings. Another
// viewer's words are looked for among the keys, which say whose a word is.
const (
	keyCRM     = "cr:" // a principal that was shown CRM matches
	keyCRMWord = "cw:" // a principal, a zero byte, and a word of its matches
)

// crmLines returns the lines of the matches that several accounts were shown, each
// once.
func crmLines(views []archive.CRMView, shown func(principal string) bool) []string {
	var lines []string
	for _, c := range views {
		if !shown(c.Principal) {
			continue
		}
		var matches api.CRMMatches
		if json.Unmarshal(c.Matches, &matches) != nil {
			continue
		}
		for _, line := range crmMatchLines(matches) {
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

func anyPrincipal(string) bool { return true }

// addCRM adds keys for the matches that each account was shown.
func addCRM(v *segment.Builder, views []archive.CRMView, lang *text.Language) {
	for _, c := range views {
		set := map[string]bool{}
		for _, line := range crmLines([]archive.CRMView{c}, anyPrincipal) {
			for _, w := range v.Words.AppendWords(nil, v.Words.Tokenize(line), lang, nil) {
				set[keyCRMWord+c.Principal+"\x00"+v.Words.Term(w)] = true
			}
			set[keyCRM+c.Principal] = true
		}
		v.AddKeys(segment.FieldKeys, keysOf(set))
	}
}

// withCRMKeys finds the meetings with one of the keys that keys makes of a principal
// whose matches the viewer sees. The viewer sees them by the address that also sees the
// meeting: the rights of several addresses add up and do not combine.
func (s *snapshot) withCRMKeys(keys func(principal string) []string) (meetingSet, error) {
	return s.withCRMOf(func(principal string) (meetingSet, error) { return s.withKeys(keys(principal)...) })
}

// withCRMOf is withCRMKeys for the meetings that find finds by a principal.
func (s *snapshot) withCRMOf(find func(principal string) (meetingSet, error)) (meetingSet, error) {
	found := s.empty()
	for _, a := range s.addresses {
		for _, p := range a.crm {
			matching, err := find(p)
			if err != nil {
				return nil, err
			}
			found.or(matching.and(a.seen))
		}
	}
	return found, nil
}

// withCRMBeginning finds the meetings with a word that begins so in matches that the viewer sees.
func (s *snapshot) withCRMBeginning(begin string) (meetingSet, error) {
	return s.withCRMOf(func(principal string) (meetingSet, error) {
		return s.withFieldBeginning(segment.FieldKeys, keyCRMWord+principal+"\x00"+begin)
	})
}

// withCRMWords finds the meetings with one of some words in matches that the viewer
// sees.
func (s *snapshot) withCRMWords(terms ...string) (meetingSet, error) {
	return s.withCRMKeys(func(principal string) []string {
		keys := make([]string, len(terms))
		for i, t := range terms {
			keys[i] = keyCRMWord + principal + "\x00" + t
		}
		return keys
	})
}

// withCRM finds the meetings with CRM matches that the viewer sees.
func (s *snapshot) withCRM() (meetingSet, error) {
	if s.seesAll {
		return s.withKeys(keyHas + "crm")
	}
	return s.withCRMKeys(func(principal string) []string { return []string{keyCRM + principal} })
}

// withAllCRMWords finds the meetings with all words of a phrase in matches that the
// viewer sees. It passes over single characters of scripts without spaces, of which most
// are no terms of their own.
func (s *snapshot) withAllCRMWords(phrase []string) (meetingSet, error) {
	found := s.visible()
	for _, term := range phrase {
		if text.IsUnspacedCharacter(term) {
			continue
		}
		begin, isBeginning := strings.CutSuffix(term, "*")
		matching, err := s.withCRMWords(term)
		if isBeginning {
			matching, err = s.withCRMBeginning(begin)
		}
		if err != nil {
			return nil, err
		}
		found.and(matching)
	}
	return found, nil
}

// crmLinesOf reads the lines of a meeting's CRM matches that the viewer sees.
func (s *snapshot) crmLinesOf(id int64) ([]string, error) {
	views, err := s.x.archive.CRMViews(s.ctx, []int64{id})
	if err != nil {
		return nil, fmt.Errorf("read the notes of %d: %w", id, err)
	}
	return crmLines(views[id], func(principal string) bool {
		return s.seesAll || slices.ContainsFunc(s.addresses, func(a addressRights) bool {
			return slices.Contains(a.crm, principal) && s.hasMeeting(a.seen, id)
		})
	}), nil
}
