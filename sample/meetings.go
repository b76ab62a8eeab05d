package sample

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

//go:embed meetings/*.txt
var scripts embed.FS

// Base returns the base date of All and NDJSON. With it the meetings have the same
// times for ever.
func Base() time.Time { return time.Date(2026, time.June, 30, 0, 0, 0, 0, time.UTC) }

// Meetings returns every meeting as a Meeting object (section 2.2) with all its
// parts, oldest first. The meetings lie in the half year before base and end a few
// days before it, on working days; only base's day (UTC) counts. Each call makes new
// bytes, which belong to the caller. Meetings panics on a script that cannot be
// read, since that is a fault of the program which its tests find.
func Meetings(base time.Time) []json.RawMessage {
	built, err := build(scripts, base)
	if err != nil {
		panic(err)
	}
	return built
}

// All returns the meetings at the fixed base date.
func All() []json.RawMessage { return Meetings(Base()) }

// NDJSON returns the meetings before base as lines of one Meeting object each, the
// form that loading and importing read. The zero time stands for Base.
func NDJSON(base time.Time) io.Reader {
	if base.IsZero() {
		return joinLines(All())
	}
	return joinLines(Meetings(base))
}

func joinLines(meetings []json.RawMessage) io.Reader {
	return bytes.NewReader(append(bytes.Join(rawBytes(meetings), []byte("\n")), '\n'))
}

func rawBytes(raw []json.RawMessage) [][]byte {
	out := make([][]byte, len(raw))
	for i, r := range raw {
		out[i] = r
	}
	return out
}

// build reads every script below fsys and converts it into a Meeting, in order of
// time.
func build(fsys fs.FS, base time.Time) ([]json.RawMessage, error) {
	names, err := fs.Glob(fsys, "meetings/*.txt")
	if err != nil {
		return nil, fmt.Errorf("list scripts: %w", err)
	}
	var all []*meeting
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("read script: %w", err)
		}
		s, err := parseScript(strings.TrimSuffix(strings.TrimPrefix(name, "meetings/"), ".txt"), string(text))
		if err != nil {
			return nil, err
		}
		m, err := s.meeting(base)
		if err != nil {
			return nil, fmt.Errorf("turn script %s into a meeting: %w", s.slug, err)
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *meeting) int { return strings.Compare(a.RecordingStart, b.RecordingStart) })
	out := make([]json.RawMessage, len(all))
	for i, m := range all {
		raw := &bytes.Buffer{}
		enc := json.NewEncoder(raw)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(m); err != nil {
			return nil, fmt.Errorf("encode meeting %d: %w", m.RecordingID, err)
		}
		out[i] = bytes.TrimSuffix(raw.Bytes(), []byte("\n"))
	}
	return out, nil
}
