package search

import (
	"fmt"
	"slices"

	"minutebook/search/segment"
	"minutebook/search/text"
)

// countPhrase adds how often meetings have a phrase in their transcripts: the newest are
// read, and those for which the budget does not last count once. It returns false when
// there are such.
func (s *snapshot) countPhrase(counts [][]int, t *termMatch, found meetingSet, budget *readBudget) (bool, error) {
	said, err := s.withPairs(segment.FieldText, t.phrase)
	if err != nil {
		return false, err
	}
	found.and(said)
	rarest, err := s.rarestWord(t.phrase)
	if err != nil {
		return false, err
	}
	for i, docs := range found {
		eachDocument(docs, func(doc uint32) { counts[i][doc]++ })
	}
	read := 0
	for _, r := range s.topMeetings(found, nil, maxVerified, nil) {
		if budget.isSpent() {
			break
		}
		n, err := s.countInMeeting(r.id, t.phrase, rarest, budget)
		if err != nil {
			return false, err
		}
		if i, doc, ok := s.place(r.id); ok {
			counts[i][doc] += n - 1
		}
		read++
		if err := s.ctx.Err(); err != nil {
			return false, err
		}
	}
	return read == found.size(), nil
}

// countInMeeting reads the moments of a meeting that have the rarest word of a phrase, and
// counts the phrases that begin in them or in the entry before.
func (s *snapshot) countInMeeting(id int64, phrase []string, rarest string, budget *readBudget) (int, error) {
	var ranges []entryRange
	if rarest == "" {
		ranges = []entryRange{{0, -1}}
	}
	for _, m := range s.spoken {
		if rarest == "" {
			break
		}
		docs, err := m.ofMeeting(id)
		if err != nil {
			return 0, err
		}
		if docs.IsEmpty() {
			continue
		}
		with, err := m.terms.Documents(segment.FieldText, rarest)
		if err != nil {
			return 0, err
		}
		docs.And(with)
		for it := docs.Iterator(); it.HasNext(); {
			name, err := m.seg.DocID(uint64(it.Next()))
			if err != nil {
				return 0, fmt.Errorf("read search index: %w", err)
			}
			if _, r, ok := readMomentID(name); ok {
				ranges = append(ranges, entryRange{max(0, r.From-1), r.To + 1})
			}
		}
	}
	return s.countInRanges(id, joinRanges(ranges), phrase, budget)
}

// joinRanges joins ranges that meet or overlap, so that no entry is read twice.
func joinRanges(ranges []entryRange) []entryRange {
	slices.SortFunc(ranges, func(a, b entryRange) int { return a.From - b.From })
	var out []entryRange
	for _, r := range ranges {
		if n := len(out); n > 0 && r.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, r.To)
			continue
		}
		out = append(out, r)
	}
	return out
}

// countInRanges reads entries and counts the phrase in them.
func (s *snapshot) countInRanges(id int64, ranges []entryRange, phrase []string, budget *readBudget) (int, error) {
	n := 0
	for _, r := range ranges {
		entries, err := s.x.archive.Entries(s.ctx, id, r.From, r.To)
		if isMissing(err) {
			return n, nil
		}
		if err != nil {
			return 0, err
		}
		budget.entries -= len(entries) + readCost
		tokens := make([][]text.Token, len(entries))
		for i, e := range entries {
			tokens[i] = text.Tokenize(e.Text)
		}
		words := text.NewSequence(joinEntries(entries, tokens))
		for first, after := words.FindPhrase(phrase, 0); first >= 0; first, after = words.FindPhrase(phrase, after) {
			n++
		}
	}
	return n, nil
}
