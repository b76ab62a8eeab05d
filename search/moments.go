package search

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"minutebook/archive"
	"minutebook/search/segment"
	"minutebook/search/text"
)

// entryRange is a moment: the entries [From,To) of a transcript, about a minute of
// talk, cut at entries' borders.
type entryRange struct{ From, To int }

// Bounds of a moment. One long entry is a moment of its own, whatever its
// length: an entry is never cut.
const (
	momentLength = 60 * time.Second
	momentBytes  = 1600
)

// cutMoments divides a transcript into moments. Every entry is in exactly one.
func cutMoments(entries []archive.Entry) []entryRange {
	var out []entryRange
	from, bytes := 0, 0
	for i, e := range entries {
		if i > from && (e.Offset-entries[from].Offset >= momentLength || e.Offset < entries[i-1].Offset || bytes+len(e.Text) > momentBytes) {
			out = append(out, entryRange{from, i})
			from, bytes = i, 0
		}
		bytes += len(e.Text)
	}
	if from < len(entries) {
		out = append(out, entryRange{from, len(entries)})
	}
	return out
}

// momentSegment is one segment of the moments' index.
type momentSegment struct {
	seg   *scorch.SegmentSnapshot
	terms *segment.TermReader
}

// withMoments returns the visible meetings with at least one of the moments that
// find returns of each segment.
func (s *snapshot) withMoments(find func(*momentSegment) (*roaring.Bitmap, error)) (meetingSet, error) {
	moments := make([]*roaring.Bitmap, len(s.spoken))
	for i, m := range s.spoken {
		var err error
		if moments[i], err = find(m); err != nil {
			return nil, err
		}
	}
	return s.inMeetings(moments)
}

// inMeetings returns the visible meetings with at least one of some moments, by segment.
func (s *snapshot) inMeetings(moments []*roaring.Bitmap) (meetingSet, error) {
	out := s.empty()
	for i, m := range s.spoken {
		last := int64(-1)
		for it := moments[i].Iterator(); it.HasNext(); {
			name, err := m.seg.DocID(uint64(it.Next()))
			if err != nil {
				return nil, fmt.Errorf("read search index: %w", err)
			}
			if id := meetingOfMoment(name); id != last {
				s.addMeeting(out, id)
				last = id
			}
		}
		if err := s.ctx.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// meetingOfMoment reads the meeting that a moment's name begins with.
func meetingOfMoment(name []byte) int64 {
	var id int64
	for i, c := range name {
		if c == '-' && i == 0 {
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		id = id*10 + int64(c-'0')
	}
	if len(name) > 0 && name[0] == '-' {
		return -id
	}
	return id
}

// withAny finds the moments that have one of the terms in a field.
func (m *momentSegment) withAny(field string, terms []string) (*roaring.Bitmap, error) {
	out := roaring.New()
	for _, t := range terms {
		docs, err := m.terms.Documents(field, t)
		if err != nil {
			return nil, err
		}
		out.Or(docs)
	}
	return out, nil
}

// spokenBy finds the moments in which all the speakers speak, of which there is
// at least one.
func (m *momentSegment) spokenBy(speakers []speaker) (*roaring.Bitmap, error) {
	var out *roaring.Bitmap
	for _, s := range speakers {
		docs, err := m.withAny(segment.FieldKeys, s.keys)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = docs
			continue
		}
		out.And(docs)
	}
	return out, nil
}

// ofMeeting finds the moments of a meeting.
func (m *momentSegment) ofMeeting(id int64) (*roaring.Bitmap, error) {
	return m.terms.Documents(segment.FieldKeys, keyMeeting+strconv.FormatInt(id, 10))
}

// readAtOnce is how many meetings are read, on several processors, before the budget is
// looked at again. It does not depend on the machine, as answers do not either.
const readAtOnce = 4

// readNewest looks for a passage in the transcripts of meetings, the newest first, as far as
// the budget lasts, and calls done with how often each has it; once makes it stop at a
// meeting's first.
func (s *snapshot) readNewest(found meetingSet, p passage, once bool, budget *readBudget, done func(id int64, times int)) error {
	moments, err := s.momentsToRead(p)
	if err != nil {
		return err
	}
	newest := s.topMeetings(found, nil, maxVerified, nil)
	words := make([]text.Sequence, readAtOnce)
	for len(newest) > 0 && !budget.isSpent() {
		batch := newest[:min(readAtOnce, len(newest))]
		newest = newest[len(batch):]
		ranges := make([][]entryRange, len(batch))
		for i, r := range batch { // one after the other, as the index is read by one goroutine
			if moments == nil { // the whole transcript
				ranges[i] = []entryRange{{0, math.MaxInt32}}
			} else if ranges[i], err = s.rangesWith(r.id, moments); err != nil {
				return err
			}
			if !once {
				ranges[i] = joinRanges(ranges[i], 2*p.reach())
			}
		}
		times, costs := make([]int, len(batch)), make([]int, len(batch))
		err = s.parallel(len(batch), func(i int) (err error) {
			times[i], costs[i], err = s.countInRanges(&words[i], batch[i].id, ranges[i], p, once)
			return err
		})
		if err != nil {
			return err
		}
		for i, r := range batch {
			budget.entries -= costs[i]
			done(r.id, times[i])
		}
	}
	return nil
}

// countRead adds how often meetings have a passage: the newest are read, and those for which
// the budget does not last count once. It returns false when there are such.
func (s *snapshot) countRead(counts [][]int, p passage, found meetingSet, budget *readBudget) (bool, error) {
	for i, docs := range found {
		eachDocument(docs, func(doc uint32) { counts[i][doc]++ })
	}
	read := 0
	err := s.readNewest(found, p, false, budget, func(id int64, times int) {
		if i, doc, ok := s.place(id); ok {
			counts[i][doc] += times - 1
		}
		read++
	})
	return read == found.size(), err
}

// momentsToRead returns the moments, by segment, in or at which a passage must be: those of
// its speakers that have its rarest word. It returns nil where all moments are to be read.
func (s *snapshot) momentsToRead(p passage) ([]*roaring.Bitmap, error) {
	rarest, err := s.rarestWord(p.words)
	if err != nil || rarest == "" && len(p.speakers) == 0 {
		return nil, err
	}
	moments := make([]*roaring.Bitmap, len(s.spoken))
	for i, m := range s.spoken {
		if len(p.speakers) > 0 {
			if moments[i], err = m.spokenBy(p.speakers); err != nil {
				return nil, err
			}
		}
		if rarest == "" {
			continue
		}
		with, err := m.terms.Documents(segment.FieldText, rarest)
		if err != nil {
			return nil, err
		}
		if moments[i] != nil {
			with.And(moments[i])
		}
		moments[i] = with
	}
	return moments, nil
}

// rangesWith returns those of the moments, by segment, that are of a meeting, in their order.
// All moments of a meeting are in one segment, as they are written together.
func (s *snapshot) rangesWith(id int64, moments []*roaring.Bitmap) (ranges []entryRange, err error) {
	for i, m := range s.spoken {
		docs, err := m.ofMeeting(id)
		if err != nil {
			return nil, err
		}
		if docs.IsEmpty() {
			continue
		}
		docs.And(moments[i])
		for it := docs.Iterator(); it.HasNext(); {
			name, err := m.seg.DocID(uint64(it.Next()))
			if err != nil {
				return nil, fmt.Errorf("read search index: %w", err)
			}
			if _, r, ok := readMomentID(name); ok {
				ranges = append(ranges, r)
			}
		}
		break
	}
	slices.SortFunc(ranges, func(a, b entryRange) int { return a.From - b.From })
	return ranges, nil
}

// joinRanges joins ranges with at most so many entries between them.
func joinRanges(ranges []entryRange, gap int) []entryRange {
	var out []entryRange
	for _, r := range ranges {
		if n := len(out); n > 0 && r.From <= out[n-1].To+gap {
			out[n-1].To = max(out[n-1].To, r.To)
			continue
		}
		out = append(out, r)
	}
	return out
}

// countInRanges reads entries into words and counts a passage in them and where it runs from or
// into one of them; once makes it stop at the first. The cost is of the entries that were read.
func (s *snapshot) countInRanges(words *text.Sequence, id int64, ranges []entryRange, p passage, once bool) (times, cost int, err error) {
	last := 0
	for _, r := range ranges {
		from := max(last, r.From-p.reach()) // a passage that begins in the range before was looked for there
		last = r.To
		said, n, err := s.x.archive.Said(s.ctx, id, from, r.To+p.reach())
		if err != nil {
			return 0, 0, err
		}
		cost += n + readCost
		words.Read(said)
		for first, after := words.FindPhrase(p.words, 0); first >= 0; first, after = words.FindPhrase(p.words, after) {
			isIn, err := s.isPartlyIn(id, from, r, p, words.Words[first].Start, words.Words[after-1].End)
			if err != nil {
				return 0, 0, err
			}
			if !isIn {
				continue
			}
			if times++; once {
				return times, cost, nil
			}
		}
	}
	return times, cost, nil
}

// isPartlyIn reports whether a passage, found at bytes [start,end) of the text from an entry on,
// has a part in a range. One without speakers has its rarest word there.
func (s *snapshot) isPartlyIn(id int64, from int, r entryRange, p passage, start, end int) (bool, error) {
	if len(p.speakers) == 0 || p.reach() == 0 {
		return true, nil
	}
	before, _, err := s.x.archive.Said(s.ctx, id, from, r.From)
	if err != nil || end <= len(before) {
		return false, err
	}
	until, _, err := s.x.archive.Said(s.ctx, id, from, r.To)
	return start < len(until), err
}
