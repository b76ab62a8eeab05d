package export

import (
	"context"
	"errors"
	"fmt"

	"filippo.io/age"

	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/internal/bucket"
)

// Format is a format of exported meetings.
type Format string

// The formats of [Run].
const (
	Markdown Format = "md"     // meetings/*.md with front matter, people/*.md, index.md
	JSON     Format = "json"   // meetings/*.json in the service's shape
	NDJSON   Format = "ndjson" // meetings.ndjson, one meeting per line, in the service's shape
	VTT      Format = "vtt"    // meetings/*.vtt, WebVTT subtitles
	SRT      Format = "srt"    // meetings/*.srt, SubRip subtitles
	Text     Format = "txt"    // meetings/*.txt, for reading
	HTML     Format = "html"   // a static site: index.html, meetings/*.html, people/*.html
	// Parquet has four tables for warehouses: meetings, entries, people and action_items,
	// as TABLE/month=2026-03/TABLE.parquet.
	Parquet Format = "parquet"
)

// Formats returns all formats.
func Formats() []Format {
	return []Format{Markdown, JSON, NDJSON, VTT, SRT, Text, HTML, Parquet}
}

// Options are the options of [Run].
type Options struct {
	// Dir is created when absent; files of earlier exports in it are updated. For
	// [Parquet] it may be the address of a bucket, as [bucket.Open] takes it.
	Dir    string
	Format Format
	IDs    []int64 // only these meetings; nil means all, those removed upstream included
	// Recipients, if any, are the age recipients for whom every file is encrypted. File
	// names then show only the recording_id.
	Recipients []age.Recipient
	// Notes, when set, are exported too: as a file of JSON lines beside JSON and NDJSON,
	// and, but for the private ones, in the pages of Markdown; HTML and text have the ticks. Authors names
	// the authors of notes.
	Notes   *notes.DB
	Authors notes.Authors
	// Site renders the pages of the format HTML, which alone needs it.
	Site Site
	// Progress, when set, is called after each meeting, one call at a time.
	Progress func(done int)
}

// Result counts the meetings and files of an export.
type Result struct {
	Meetings  int `json:"meetings"`  // exported
	Written   int `json:"written"`   // new or changed files
	Unchanged int `json:"unchanged"` // files that were left as they are
	Removed   int `json:"removed"`   // files that the export has no more, as of forgotten meetings
	Skipped   int `json:"skipped"`   // meetings without a transcript, for subtitles
}

// Run writes meetings of an archive into a directory. A meeting keeps the file
// name of its first export there, and a file whose content would be the same is
// not touched: run again, it writes only the changes. Files of meetings that were
// forgotten before its end are removed. Forgotten meetings among the wanted ones are passed
// over. It fails with [archive.ErrNotFound] when the archive never had one of the wanted
// meetings, but for [Parquet], which passes over that too. Tables of another archive are
// refused, and a directory that [archive.Archive.CheckOutside] refuses.
func Run(ctx context.Context, a *archive.Archive, o Options) (Result, error) {
	if !bucket.IsAddress(o.Dir) {
		if err := a.CheckOutside(o.Dir); err != nil {
			return Result{}, fmt.Errorf("export to %s: %w", o.Dir, err)
		}
	}
	if o.Format == Parquet {
		r, err := runTables(ctx, a, o)
		if err != nil {
			err = fmt.Errorf("export to %s: %w", o.Dir, err)
		}
		return r, err
	}
	x, err := newRun(ctx, a, o)
	if err != nil {
		return Result{}, fmt.Errorf("export to %s: %w", o.Dir, err)
	}
	if o.Format != NDJSON {
		err = x.writeMeetings(ctx)
	}
	if err == nil {
		err = settle(ctx, a, &x.result, x.writeJoined)
	}
	// The files that were written are recorded even when the run was interrupted.
	err = errors.Join(err, x.ledger.close())
	if err != nil {
		return x.result, fmt.Errorf("export to %s: %w", o.Dir, err)
	}
	return x.result, nil
}
