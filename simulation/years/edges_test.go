package years

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// wideIDs are numbers at which ids of meetings begin: the smallest, the last ones below those of
// imported meetings, the first ones that not every float64 holds, and the last of 64 bits.
var wideIDs = []int64{0, 7_999_999_999_000_000, 9_007_199_255_000_000, 9_223_372_036_854_000_000}

// wideID is the id of the meeting n of a seed.
func wideID(seed uint64, n int64) int64 {
	if seed < firstHarsh {
		return n
	}
	return wideIDs[newRand(seed, fmt.Sprint("id ", n)).IntN(len(wideIDs))] + n
}

// isForeign reports whether an id is one of an imported meeting, see docs/import.md.
func isForeign(id int64) bool { return id >= firstForeignID && id < firstForeignID+1<<49 }

// edges are the numbers in a meeting's content.
type edges struct {
	offsets    []string // of the entries of the transcript, the last one also of later entries
	task, link string   // of the action item
	begin, end string   // of the highlight
	amount     string   // of the deal in a CRM; "": by the meeting's number
}

// usualEdges are those of the seeds before firstHarsh.
func usualEdges() edges { return edges{task: "00:01:00", link: "60.5", begin: "12.5", end: "20"} }

// offset is where the entry i of the transcript begins.
func (e *edges) offset(i int) string {
	if len(e.offsets) == 0 {
		return fmt.Sprintf("00:%02d:01", i)
	}
	return e.offsets[min(i, len(e.offsets)-1)]
}

// harden gives a new meeting numbers at their edges.
func (w *world) harden(m *meeting) {
	if w.seed < firstHarsh {
		return
	}
	g := newRand(w.seed, fmt.Sprint("edges ", m.id))
	m.length = []time.Duration{0, time.Second, 30 * time.Minute, 30 * time.Minute, 26 * time.Hour, 101 * time.Hour}[g.IntN(6)]
	m.created = m.created.Add([]time.Duration{0, 0, time.Millisecond, 500 * time.Millisecond, 999 * time.Millisecond}[g.IntN(5)])
	e := &m.edges
	e.offsets = [][]string{nil, nil, {"00:00:00"}, {"00:00:00", "00:00:01", "99:59:59", "100:00:00", "100:59:59"}, {"100:00:00"}}[g.IntN(5)]
	e.task = []string{"00:01:00", "00:00:00", "99:59:59", "100:00:00"}[g.IntN(4)]
	e.link = []string{"60.5", "0", "0.0001", "1058.9999", "360000"}[g.IntN(5)]
	e.begin = []string{"12.5", "0", "0.0001", "359999.9999"}[g.IntN(4)]
	e.end = []string{"20", "0", "0.0001", "360000"}[g.IntN(4)]
	e.amount = []string{"", "", "0", "-0.01", "9007199254740993", "1e15"}[g.IntN(6)]
	if w.traits.oldAddresses {
		m.address = m.recorder.at()
	}
}

// timeKeys are the members of a meeting that are times.
var timeKeys = []string{"created_at", "scheduled_start_time", "scheduled_end_time", "recording_start_time", "recording_end_time"}

// zones are ways of writing a time.
var zones = []struct {
	offset time.Duration
	layout string
}{
	{0, "2006-01-02T15:04:05.999Z07:00"}, {0, "2006-01-02T15:04:05.000000Z07:00"}, {0, "2006-01-02T15:04:05.000000000+00:00"},
	{14 * time.Hour, "2006-01-02T15:04:05.000Z07:00"}, {-12 * time.Hour, "2006-01-02T15:04:05.999999Z07:00"}, {345 * time.Minute, "2006-01-02T15:04:05.999Z07:00"},
}

// respellTimes writes the times of a meeting as an account is shown them in a kind of call.
func (w *world) respellTimes(who, kind string, m object) {
	if w.seed < firstHarsh {
		return
	}
	z := zones[newRand(w.seed, "zone "+who+" "+kind).IntN(len(zones))]
	for _, key := range timeKeys {
		var at time.Time
		if json.Unmarshal(m[key], &at) == nil && !at.IsZero() {
			m[key] = encode(at.In(time.FixedZone("", int(z.offset.Seconds()))).Format(z.layout))
		}
	}
}

// stampFully writes a time with its fractions.
func stampFully(t time.Time) string {
	return strings.Replace(t.UTC().Format("2006-01-02T15:04:05.000Z"), ".000Z", "Z", 1)
}
