package search

import (
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"minutebook/archive"
)

// mostVerified is how many moments are read to check one phrase. Where more
// may have it the answer says that its total is not exact.
const mostVerified = 400

// verified keeps the moments whose text has the phrase.
func (m *momentSegment) verified(docs *roaring.Bitmap, terms []string) (*roaring.Bitmap, error) {
	v := m.v
	if v.unread -= int(docs.GetCardinality()); v.unread < 0 {
		v.inexact = v.inexact || !docs.IsEmpty()
		return docs, nil
	}
	kept := roaring.New()
	for it := docs.Iterator(); it.HasNext(); {
		doc := it.Next()
		ok, err := v.saysPhrase(m.seg, doc, terms)
		if err != nil {
			return nil, err
		}
		if ok {
			kept.Add(doc)
		}
	}
	return kept, nil
}

// saysPhrase reads a moment and the entry after it, into which a phrase may
// run on.
func (v *view) saysPhrase(seg *scorch.SegmentSnapshot, doc uint32, terms []string) (bool, error) {
	name, err := seg.DocID(uint64(doc))
	if err != nil {
		return false, fmt.Errorf("read search index: %w", err)
	}
	id, st, ok := readMomentID(name)
	if !ok {
		return false, nil
	}
	entries, err := v.x.archive.Entries(v.ctx, id, st.From, st.To+1)
	if err != nil {
		return false, err
	}
	first, _ := sequence(tokensOf(entries)).findPhrase(terms, 0)
	return first >= 0, nil
}

// tokensOf are the words of entries, one after the other.
func tokensOf(entries []archive.Entry) []tok {
	var out []tok
	shift := 0
	for _, e := range entries {
		for _, t := range tokenize(e.Text) {
			t.start, t.end = t.start+shift, t.end+shift
			out = append(out, t)
		}
		shift += len(e.Text) + 1
	}
	return out
}

// verifiedNotes keeps the meetings that have the phrase in a part other than
// the transcript.
func (v *view) verifiedNotes(found docset, field string, terms []string) (docset, error) {
	if v.unread -= found.size(); v.unread < 0 {
		v.inexact = v.inexact || found.size() > 0
		return found, nil
	}
	out := v.none()
	for i, docs := range found {
		for it := docs.Iterator(); it.HasNext(); {
			doc := it.Next()
			s := &source{}
			var err error
			if s.meeting, err = v.x.archive.Notes(v.ctx, v.columns[i].id[doc]); isMissing(err) {
				continue
			} else if err != nil {
				return nil, err
			}
			if first, _ := sequence(tokenize(s.part(field))).findPhrase(terms, 0); first >= 0 {
				out[i].Add(doc)
			}
		}
	}
	return out, nil
}
