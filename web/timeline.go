package web

import "time"

// timeline draws who speaks when: a lane for each of the most talkative, the
// highlights above them. Its units are those of the drawing.
type timeline struct {
	Width, Height int
	Talk          []turn
	Marks         []timeMark // highlights
	Todos         []timeMark // action items
	Hits          []timeMark // lines that match
	length        time.Duration
}

// turn is a period in which one speaker talks without interruption.
type turn struct {
	X, Width float64
	Y        int
	Voice    int
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
	lanes := min(len(speakers), maxLanes)
	t := &timeline{Width: timelineWidth, Height: lanes*lane + 8, length: length}
	x := t.x
	for i := 0; i < len(lines); {
		j := i + 1
		for j < len(lines) && lines[j].Speaker == lines[i].Speaker {
			j++
		}
		if v := lines[i].Voice; v < lanes {
			from := x(lines[i].Offset)
			t.Talk = append(t.Talk, turn{X: from, Width: max(1.5, x(lines[j-1].End)-from), Y: v*lane + 7, Voice: v})
		}
		i = j
	}
	return t
}

// x returns where a moment is drawn.
func (t *timeline) x(at time.Duration) float64 {
	return min(1, max(0, float64(at)/float64(t.length))) * timelineWidth
}

// addTicks marks a page's lines that match, its highlights and its action items whose
// moment is known. moment returns the address of a second of the recording.
func (t *timeline) addTicks(p *meetingPage, moment func(int64) string) {
	if t == nil {
		return
	}
	for _, h := range p.Highlights {
		t.Marks = append(t.Marks, t.tick(h.From, h.To, "Highlight: "+h.Summary, moment))
	}
	for _, a := range p.Actions {
		if a.At >= 0 {
			t.Todos = append(t.Todos, t.tick(a.At, a.At, "Action item: "+a.Text, moment))
		}
	}
	for _, l := range p.Lines {
		if l.Snippet != nil {
			t.Hits = append(t.Hits, timeMark{X: t.x(l.Offset)})
		}
	}
}

// tick returns the mark of a span, wide enough to be seen. Its label is cut to 120
// characters.
func (t *timeline) tick(from, to time.Duration, label string, moment func(int64) string) timeMark {
	if runes := []rune(label); len(runes) > 120 {
		label = string(runes[:119]) + "…"
	}
	return timeMark{X: t.x(from), Width: max(4, t.x(to)-t.x(from)), At: from, Label: label + ", " + formatClock(from),
		Address: moment(int64(from / time.Second))}
}
