package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"minutebook/api"
	syncer "minutebook/sync"
)

// progressEvery is how often a run reports where nobody watches.
const progressEvery = 10 * time.Second

// syncProgress shows the events of a run: JSON lines with --json, one line that
// is written over on a terminal, a line every ten seconds elsewhere.
type syncProgress struct {
	w        io.Writer
	json     bool
	terminal bool
	now      func() time.Time
	last     time.Time // of the last line
	width    int       // of the line to write over
}

func (m *Main) progress() *syncProgress {
	return &syncProgress{w: m.Stdout, json: m.json, terminal: m.terminal(m.Stdout), now: time.Now}
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
	line := progressLine(e)
	if p.terminal {
		pad := max(0, p.width-len(line))
		p.width = len(line)
		end := ""
		if e.Done {
			end = "\n"
		}
		_, err := fmt.Fprintf(p.w, "\r%s%s%s", line, strings.Repeat(" ", pad), end)
		return err
	}
	now := p.now()
	if !e.Done && now.Sub(p.last) < progressEvery {
		return nil
	}
	p.last = now
	_, err := fmt.Fprintln(p.w, line)
	return err
}

// progressLine is one event in one line: what is found, kept and to do, the
// calls of this minute against their limits, bytes, and the time left.
func progressLine(e syncer.Event) string {
	var b strings.Builder
	doing := e.Doing
	if e.Done {
		doing = "done"
	}
	fmt.Fprintf(&b, "%s: %d found, %d new, %d to do", doing, e.Found, e.Kept, e.ToDo)
	for _, c := range []api.Class{api.ClassGlobal, api.ClassHeavy, api.ClassDownload} {
		if calls := e.Calls[c]; calls.Limit > 0 {
			fmt.Fprintf(&b, ", %s %d/%d", c, calls.Used, calls.Limit)
		}
	}
	if e.Recordings > 0 || e.Bytes > 0 {
		fmt.Fprintf(&b, ", %d %s (%s)", e.Recordings, plural(e.Recordings, "recording", "recordings"), size(e.Bytes))
	}
	if e.Left > 0 && !e.Done {
		fmt.Fprintf(&b, ", %v left", time.Duration(e.Left*float64(time.Second)).Round(time.Second))
	}
	return b.String()
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
