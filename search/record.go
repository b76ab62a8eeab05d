package search

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"minutebook/search/text"
)

// record holds the values of a meeting that counting and ordering need. It is the only
// thing stored in the index, and is read once per segment.
type record struct {
	ID       int64
	Start    int64 // Unix milliseconds
	Seconds  int64 // length of the recording
	Words    int64 // in the transcript
	Language string
	Type     string
	Team     string
	Has      []string
	Domains  []string
	People   []string
}

func recordOf(s *source, words int) *record {
	r := &record{
		ID:       s.row.RecordingID,
		Start:    s.start().UnixMilli(),
		Seconds:  int64(s.length() / time.Second),
		Words:    int64(words),
		Language: text.BaseCode(s.row.Language),
		Type:     strings.TrimSpace(s.meeting.MeetingType.Or("")),
		Team:     strings.TrimSpace(s.meeting.RecordedBy.Team.Or("")),
		Has:      listParts(s),
		Domains:  s.domains(),
	}
	seen := map[string]bool{}
	for _, p := range s.people() {
		name := strings.TrimSpace(p.name)
		if name != "" && !seen[name] {
			seen[name] = true
			r.People = append(r.People, name)
		}
	}
	return r
}

func (r *record) encode() []byte {
	b := []byte{}
	for _, n := range []int64{r.ID, r.Start, r.Seconds, r.Words} {
		b = binary.AppendVarint(b, n)
	}
	for _, s := range []string{r.Language, r.Type, r.Team} {
		b = appendString(b, s)
	}
	for _, list := range [][]string{r.Has, r.Domains, r.People} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, s := range list {
			b = appendString(b, s)
		}
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// storedRecord is a record as it is read: strings are numbers.
type storedRecord struct {
	id, start, seconds, words int64
	single                    [singleFields]uint32
	multi                     [multiFields][]uint32
}

// decode reads an encoded record, whose strings intern numbers. The lists of the record
// that was read before are overwritten.
func (r *storedRecord) decode(b []byte, intern func([]byte) uint32) error {
	d := decoder{b: b, intern: intern}
	r.id, r.start, r.seconds, r.words = d.number(), d.number(), d.number(), d.number()
	for i := range r.single {
		r.single[i] = d.text()
	}
	for i := range r.multi {
		r.multi[i] = d.appendList(r.multi[i][:0])
	}
	if d.damaged {
		return fmt.Errorf("decode an index record of %d bytes: it is damaged", len(b))
	}
	return nil
}

type decoder struct {
	b       []byte
	intern  func([]byte) uint32
	damaged bool
}

func (d *decoder) number() int64 {
	n, size := binary.Varint(d.b)
	d.advance(size)
	return n
}

func (d *decoder) advance(size int) {
	if size <= 0 || size > len(d.b) {
		d.damaged, d.b = true, nil
		return
	}
	d.b = d.b[size:]
}

func (d *decoder) text() uint32 {
	n, size := binary.Uvarint(d.b)
	d.advance(size)
	if d.damaged || n > uint64(len(d.b)) {
		d.damaged = true
		return 0
	}
	number := d.intern(d.b[:n])
	d.b = d.b[n:]
	return number
}

func (d *decoder) appendList(to []uint32) []uint32 {
	n, size := binary.Uvarint(d.b)
	d.advance(size)
	if d.damaged || n > uint64(len(d.b)) {
		d.damaged = true
		return nil
	}
	for range n {
		to = append(to, d.text())
	}
	return to
}
