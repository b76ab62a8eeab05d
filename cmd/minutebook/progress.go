package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/term"

	"minutebook/api"
	"minutebook/internal/phrase"
	syncer "minutebook/sync"
)

// progressEvery is the time between two lines when the output is no terminal.
const progressEvery = 10 * time.Second

// syncProgress prints the events of a sync: JSON lines with --json, a few lines
// that are redrawn on a terminal, and a line every ten seconds otherwise.
type syncProgress struct {
	w        io.Writer
	json     bool
	terminal bool
	now      func() time.Time
	last     time.Time // of the last line
	lines    int       // to write over
	columns  func() int
}

func (m *Main) newProgress() *syncProgress {
	return &syncProgress{w: rawStream(m.Stdout), json: m.json, terminal: m.isTerminal(m.Stdout), now: time.Now, columns: m.columns}
}

// columns returns the width of the terminal, 80 if it is unknown.
func (m *Main) columns() int {
	if fd, ok := descriptor(m.Stdout); ok {
		if width, _, err := term.GetSize(fd); err == nil && width > 0 {
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
	_, err := fmt.Fprintln(p.w, formatProgress(e))
	return err
}

// redraw overwrites the lines of the previous event.
func (p *syncProgress) redraw(e syncer.Event) error {
	var b strings.Builder
	if p.lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.lines)
	}
	lines := []string{formatMeetings(e), "  " + formatCalls(e)}
	if blocks := formatBlocks(e); blocks != "" {
		lines = append(lines, "  "+blocks)
	}
	if rest := formatRecordings(e); rest != "" {
		lines = append(lines, "  "+rest)
	}
	if e.Trouble != "" && !e.Done {
		lines = append(lines, "  "+formatTrouble(e))
	}
	for len(lines) < p.lines { // clear the lines that this event does not have
		lines = append(lines, "")
	}
	for _, line := range lines {
		// A line that wraps could not be overwritten.
		letters := []rune(line)
		fmt.Fprintf(&b, "%s\x1b[K\n", string(letters[:min(len(letters), p.columns()-1)]))
	}
	p.lines = len(lines)
	_, err := io.WriteString(p.w, b.String())
	return err
}

// formatProgress writes an event in one line.
func formatProgress(e syncer.Event) string {
	line := formatMeetings(e) + ", " + formatCalls(e)
	if blocks := formatBlocks(e); blocks != "" {
		line += ", " + blocks
	}
	if rest := formatRecordings(e); rest != "" {
		line += ", " + rest
	}
	if e.Trouble != "" && !e.Done {
		line += ", " + formatTrouble(e)
	}
	return line
}

// formatTrouble writes why calls are made again. The words may be the service's.
func formatTrouble(e syncer.Event) string { return "tried again: " + phrase.Tame(e.Trouble) }

// formatMeetings writes the numbers of meetings found, kept and to do, and the
// time left.
func formatMeetings(e syncer.Event) string {
	activity := e.Doing
	switch {
	case e.Error != "":
		activity = "failed"
	case e.Done:
		activity = "done"
	}
	if e.Done && e.Error == "" && e.Found > 0 && e.Kept == 0 && e.ToDo == 0 {
		return fmt.Sprintf("done: %d found, nothing new", e.Found)
	}
	line := fmt.Sprintf("%s: %d found, %d kept, %d to do", activity, e.Found, e.Kept, e.ToDo)
	if e.Left > 0 && !e.Done {
		line += fmt.Sprintf(", %v left", toDuration(e.Left))
	}
	return line
}

// formatCalls writes the calls of each class in this minute and their limits.
func formatCalls(e syncer.Event) string {
	var parts []string
	for _, c := range api.Classes() {
		// The token endpoint is rarely called, and by OAuth accounts only.
		if calls := e.Calls[c]; calls.Limit > 0 && (c != api.ClassToken || calls.Used > 0) {
			part := fmt.Sprintf("%s %d/%d", c, calls.Used, calls.Limit)
			if calls.Waiting > 0 {
				part += fmt.Sprintf(" (%d wait for the budget)", calls.Waiting)
			}
			parts = append(parts, part)
		}
	}
	return "calls: " + strings.Join(parts, " ")
}

// formatBlocks writes until when the service refuses which calls of which accounts, while some run. It
// has a line of its own on a terminal, since the line of the calls may be cut there.
func formatBlocks(e syncer.Event) string {
	var parts []string
	for _, c := range api.Classes() {
		if calls := e.Calls[c]; !calls.Blocked.IsZero() && !e.Done {
			parts = append(parts, fmt.Sprintf("no %s calls of %s before %s", c, calls.BlockedAccount, formatTime(calls.Blocked)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "the service asks to wait: " + strings.Join(parts, ", ")
}

// formatRecordings writes the number and the size of the downloaded recordings.
func formatRecordings(e syncer.Event) string {
	if e.Recordings == 0 && e.Bytes == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%s)", phrase.Recordings(e.Recordings), humanize.Bytes(uint64(e.Bytes)))
}
