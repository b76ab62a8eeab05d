package web

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"minutebook/archive"

	"github.com/dustin/go-humanize"
)

// player is the recording on the page, or the reason for its absence.
type player struct {
	Video, Audio string // addresses, with the moment to begin at
	State        string // the reason when there is neither
	Fetch        bool   // the visitor may have it fetched
	Again        bool   // it was tried before
	Captions     string // the address of the transcript as captions
	Spoken       string // its language
	Preload      string // how much the browser reads before it plays
}

// newPlayer finds the recording of a meeting. A media fragment in the address makes it
// begin at a moment without scripts, and pause at end unless that is negative.
func (s *server) newPlayer(r *http.Request, row *archive.Row, at, end time.Duration) (player, error) {
	p := player{Preload: "metadata"}
	if s.reads.audit != nil {
		p.Preload = "none" // a part that is read counts as played
	}
	_, mayPlay, err := s.Archive.MayPlay(r.Context(), viewerOf(r.Context()), row.RecordingID)
	if err != nil {
		return p, err
	}
	if !mayPlay {
		p.State = readOnly
		return p, nil
	}
	all, err := s.Archive.MediaOf(r.Context(), row.RecordingID)
	if err != nil {
		return p, err
	}
	from := mediaFragment(at, end)
	for _, m := range all {
		address := mediaAddress(row.RecordingID, m.Kind) + from
		switch m.Kind {
		case archive.MediaVideo:
			p.Video = address
		case archive.MediaAudio:
			p.Audio = address
		}
	}
	if row.HasTranscript {
		p.Captions = "/meetings/" + strconv.FormatInt(row.RecordingID, 10) + "/captions.vtt"
		if row.Language != "unknown" {
			p.Spoken = row.Language
		}
	}
	if p.Video == "" && p.Audio == "" {
		err = s.setMediaState(r, row, &p)
	}
	return p, err
}

// mediaFragment returns the fragment of a recording's address for a span of it.
func mediaFragment(at, end time.Duration) string {
	seconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
	switch {
	case end > 0:
		return "#t=" + seconds(max(at, 0)) + "," + seconds(end)
	case at > 0:
		return "#t=" + seconds(at)
	}
	return ""
}

// setMediaState sets why there is no recording, and whether the visitor may have it
// fetched.
func (s *server) setMediaState(r *http.Request, row *archive.Row, p *player) error {
	d, err := s.Archive.DownloadOf(r.Context(), row.RecordingID)
	isQueued := err == nil
	if err != nil && !errors.Is(err, archive.ErrNotFound) {
		return err
	}
	canRetry := !isQueued || d.State == archive.DownloadWanted || d.State == archive.DownloadRefused || d.State == archive.DownloadNone
	if !isQueued && archive.IsForeignID(row.RecordingID) {
		p.State = "This meeting was imported without a recording."
		return nil
	}
	p.Fetch = s.Fetch != nil && visitorOf(r.Context()).Admin && !row.Gone && canRetry
	p.Again = isQueued && (d.Failures > 0 || d.State == archive.DownloadRefused || d.State == archive.DownloadNone)
	p.State = explainMedia(row, d, isQueued, visitorOf(r.Context()).Admin)
	if s.Fetch == nil && !isQueued && !row.Gone {
		p.State = "Recordings are not fetched here."
	}
	return nil
}

// explainMedia returns why there is no recording yet. The row of the queue is d, if the
// recording isQueued.
func explainMedia(row *archive.Row, d archive.Download, isQueued, isAdmin bool) string {
	switch {
	case isQueued && d.State == archive.DownloadNone:
		return "There is no recording of this meeting."
	case isQueued && d.State == archive.DownloadRefused:
		return "No account here may have the recording of this meeting."
	case isQueued && d.State == archive.DownloadDeleted:
		return "A retention rule has deleted the recording of this meeting."
	case row.Gone:
		return "The meeting was removed from the service before its recording was fetched."
	case isQueued && d.State == archive.DownloadRequested:
		return "The service is preparing the recording. It will play here as soon as it is fetched."
	case isQueued && d.State == archive.DownloadReady:
		return "The recording is being fetched" + formatFetched(d) + ". It will play here as soon as it is complete."
	case isQueued && d.Failures > 0 && isAdmin:
		return "The recording could not be fetched yet, and will be tried again: " + d.Reason
	}
	return "The recording is not here yet. It will play here as soon as it is fetched."
}

// formatFetched writes the fetched share of a recording, if its size is known.
func formatFetched(d archive.Download) string {
	if d.Size <= 0 {
		return ""
	}
	return ", " + strconv.FormatInt(min(99, d.Fetched*100/d.Size), 10) + "% of " + humanize.Bytes(uint64(d.Size))
}

// timeline draws who speaks when: a lane for each of the most talkative, the
// highlights above them. Its units are those of the drawing.
type timeline struct {
	Width, Height int
	Talk          []talk     // by lane
	Marks         []timeMark // highlights
	Todos         []timeMark // action items
	Chapters      []timeMark // where those after the first begin
	Hits          []timeMark // lines that match
	length        time.Duration
}

// talk is a lane: all periods in which one speaker talks without interruption, as a path.
type talk struct {
	Voice int
	Path  string
}

// timeMark is a moment or span that is marked.
type timeMark struct {
	X, Width float64
	At       time.Duration
	Address  string // of the moment
	Label    string
}

const (
	timelineWidth = 1000
	lane          = 10 // height of a lane
	maxLanes      = 6
)

// newTimeline returns nothing when there is no talk or no length to draw it on.
func newTimeline(lines []line, speakers []speaker, length time.Duration) *timeline {
	if len(lines) == 0 || length <= 0 {
		return nil
	}
	t := &timeline{Width: timelineWidth, length: length, Talk: make([]talk, min(len(speakers), maxLanes))}
	t.Height = len(t.Talk)*lane + 8
	paths := make([]strings.Builder, len(t.Talk))
	for i := 0; i < len(lines); {
		j, isWithin := i+1, lines[i].Offset <= length
		for j < len(lines) && lines[j].Speaker == lines[i].Speaker && lines[j].Offset <= length == isWithin {
			j++
		}
		if v := lines[i].Voice; v < len(paths) && isWithin {
			from := t.x(lines[i].Offset)
			fmt.Fprintf(&paths[v], "M%.1f %.1fh%.1f", from, float64(v*lane)+10.5, max(1.5, t.x(lines[j-1].End)-from))
		}
		i = j
	}
	for v := range paths {
		t.Talk[v] = talk{v, paths[v].String()}
	}
	return t
}

// x returns where a moment is drawn.
func (t *timeline) x(at time.Duration) float64 {
	return min(1, max(0, float64(at)/float64(t.length))) * timelineWidth
}

// addTicks marks a page's lines that match, its chapters, its highlights and its action
// items, where their moment is known and lies within the meeting: others would pile up at the
// end. moment returns the address of a second of the recording.
func (t *timeline) addTicks(p *meetingPage, moment func(int64) string) {
	if t == nil {
		return
	}
	for _, h := range p.Highlights {
		if h.From <= t.length {
			t.Marks = append(t.Marks, t.tick(h.From, h.To, "Highlight: "+h.Summary, moment))
		}
	}
	for _, a := range p.Actions {
		if a.At >= 0 && a.At <= t.length {
			t.Todos = append(t.Todos, t.tick(a.At, a.At, "Action item: "+a.Text, moment))
		}
	}
	for i, c := range p.Chapters {
		if i > 0 && c.At <= t.length {
			t.Chapters = append(t.Chapters, t.tick(c.At, c.At, "Chapter: "+c.Title, moment))
		}
	}
	for _, l := range p.Lines {
		if l.Snippet != nil && l.Offset <= t.length {
			t.Hits = append(t.Hits, timeMark{X: min(t.x(l.Offset), timelineWidth-2.5)})
		}
	}
}

// tick returns the mark of a span, wide enough to be seen. Its label is cut to 120
// characters.
func (t *timeline) tick(from, to time.Duration, label string, moment func(int64) string) timeMark {
	if runes := []rune(label); len(runes) > 120 {
		label = string(runes[:119]) + "…"
	}
	width := max(4, t.x(to)-t.x(from))
	return timeMark{X: min(t.x(from), timelineWidth-width), Width: width, At: from, Label: label + ", " + formatClock(from),
		Address: moment(int64(from / time.Second))}
}
