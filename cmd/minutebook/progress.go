package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"minutebook/api"
	syncer "minutebook/sync"
)

// progressEvery is how often a run reports where nobody watches.
const progressEvery = 10 * time.Second

// syncProgress shows the events of a run: JSON lines with --json, a few lines that
// are written over on a terminal, a line every ten seconds elsewhere.
type syncProgress struct {
	w        io.Writer
	json     bool
	terminal bool
	now      func() time.Time
	last     time.Time // of the last line
	lines    int       // to write over
	columns  func() int
}

func (m *Main) progress() *syncProgress {
	return &syncProgress{w: m.Stdout, json: m.json, terminal: m.terminal(m.Stdout), now: time.Now, columns: m.columns}
}

// columns is how wide the terminal is, 80 when it does not say.
func (m *Main) columns() int {
	if f, ok := m.Stdout.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// Event shows one event.
func (p *syncProgress) Event(raw json.RawMessage) error {
	if p.json {
		_, err := fmt.Fprintf(p.w, "%s\n", raw)
		return err
	}
	var e syncer.Event
	if err := json.Unmarshal(raw, &e); err != nil {
		return fmt.Errorf("read progress: %w", err)
	}
	if p.terminal {
		return p.redraw(e)
	}
	now := p.now()
	if !e.Done && now.Sub(p.last) < progressEvery {
		return nil
	}
	p.last = now
	_, err := fmt.Fprintln(p.w, progressLine(e))
	return err
}

// redraw writes an event's lines over those of the one before.
func (p *syncProgress) redraw(e syncer.Event) error {
	var b strings.Builder
	if p.lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.lines)
	}
	lines := []string{meetingsPart(e), "  " + callsPart(e)}
	if rest := recordingsPart(e); rest != "" {
		lines = append(lines, "  "+rest)
	}
	if e.Trouble != "" && !e.Done {
		lines = append(lines, "  tried again: "+e.Trouble)
	}
	for len(lines) < p.lines { // recordings do not come and go
		lines = append(lines, "")
	}
	for _, line := range lines {
		// A line that wraps could not be written over.
		fmt.Fprintf(&b, "%s\x1b[K\n", line[:min(len(line), p.columns()-1)])
	}
	p.lines = len(lines)
	_, err := io.WriteString(p.w, b.String())
	return err
}

// progressLine is one event in one line.
func progressLine(e syncer.Event) string {
	line := meetingsPart(e) + ", " + callsPart(e)
	if rest := recordingsPart(e); rest != "" {
		line += ", " + rest
	}
	if e.Trouble != "" && !e.Done {
		line += ", tried again: " + e.Trouble
	}
	return line
}

// meetingsPart says what is found, kept and to do, and the time left.
func meetingsPart(e syncer.Event) string {
	doing := e.Doing
	switch {
	case e.Error != "":
		doing = "failed"
	case e.Done:
		doing = "done"
	}
	line := fmt.Sprintf("%s: %d found, %d kept, %d to do", doing, e.Found, e.Kept, e.ToDo)
	if e.Left > 0 && !e.Done {
		line += fmt.Sprintf(", %v left", seconds(e.Left))
	}
	return line
}

// callsPart says how many calls of each class were made this minute, against
// their limits.
func callsPart(e syncer.Event) string {
	var parts []string
	for _, c := range api.Classes() {
		// The token endpoint is rarely called, and by OAuth accounts only.
		if calls := e.Calls[c]; calls.Limit > 0 && (c != api.ClassToken || calls.Used > 0) {
			parts = append(parts, fmt.Sprintf("%s %d/%d", c, calls.Used, calls.Limit))
		}
	}
	return "calls: " + strings.Join(parts, " ")
}

// recordingsPart says how many recordings came, and their bytes.
func recordingsPart(e syncer.Event) string {
	if e.Recordings == 0 && e.Bytes == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s (%s)", e.Recordings, plural(e.Recordings, "recording", "recordings"), size(e.Bytes))
}

// size is a number of bytes as a person reads it.
func size(n int64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, prefix := float64(n), ""
	for _, prefix = range []string{"kB", "MB", "GB", "TB"} {
		v /= unit
		if v < unit {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", v, prefix)
}
