package main

import (
	"context"
	"fmt"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minutebook/archive/export"
	"minutebook/archive/generation"
	"minutebook/archive/importer"
	"minutebook/control"
	"minutebook/internal/bucket"
	"minutebook/internal/phrase"
)

func (m *Main) exportCmd() *cobra.Command {
	var q control.ExportRequest
	cmd := &cobra.Command{
		Use:   "export --to DIR [QUERY]",
		Short: "Write meetings as files: notes, subtitles, text, JSON, Parquet or a site",
		Long: "Writes meetings as files into a directory. Run again, it writes what has changed\n" +
			"since; a meeting keeps the name of its first export there. Parquet may go into a\n" +
			"bucket too: --to s3://bucket/prefix, with the credentials of the environment. A data\n" +
			"directory, or a directory in one, is refused.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if q.Dir == "" {
				return &usageError{fmt.Errorf("export: say where to with --to DIR")}
			}
			if err := checkBucket(q); err != nil {
				return &usageError{fmt.Errorf("export: %w", err)}
			}
			q.Query = strings.Join(args, " ")
			var err error
			if q.Dir, err = generation.Absolute(q.Dir); err != nil {
				return &usageError{fmt.Errorf("export: %w", err)}
			}
			r, err := callWithProgress[export.Result](cmd.Context(), m, "export", q)
			if err != nil {
				return err
			}
			return m.printResult(r, "%s: %s written, %d unchanged, %d removed, %d without a transcript\n",
				phrase.Meetings(r.Meetings), phrase.Count(r.Written, "file", "files"), r.Unchanged, r.Removed, r.Skipped)
		},
	}
	cmd.Flags().StringVar(&q.Dir, "to", "", "the `directory` to write into, or s3://bucket/prefix for parquet")
	cmd.Flags().StringVar(&q.Format, "format", string(export.Markdown), "md, json, ndjson, vtt, srt, txt, html or parquet")
	limitFlag(cmd.Flags(), "format", export.Formats()...)
	cmd.Flags().StringSliceVar(&q.Recipients, "recipient", nil, "encrypt every file for this age public `key`")
	checkRecipients(cmd.Flags())
	return m.jsonFlag(cmd)
}

// checkBucket fails for the address of a bucket that is wrong, or that the format cannot
// be written to.
func checkBucket(q control.ExportRequest) error {
	if !bucket.IsAddress(q.Dir) {
		return nil
	}
	if export.Format(q.Format) != export.Parquet {
		return fmt.Errorf("only --format parquet writes into a bucket; write %s into a directory, and copy that", q.Format)
	}
	if err := bucket.Check(q.Dir); err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	return nil
}

func (m *Main) importCmd() *cobra.Command {
	var q control.ImportRequest
	cmd := &cobra.Command{
		Use:   "import FILE…",
		Short: "Import an earlier export, and transcripts and recordings of other programs",
		Long: "Imports meetings: NDJSON and JSON files, such as those of an earlier export, and\n" +
			"what other programs recorded: transcripts as WebVTT (.vtt), SubRip (.srt) or JSON\n" +
			"of Whisper, WhisperX and whisper.cpp, with a recording and a small metadata file\n" +
			"(.toml) beside them. Run again, it changes nothing. See docs/import.md.",
		Args: checkArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if q.Paths, err = absolutePaths(args); err != nil {
				return err
			}
			if err = makeAbsolute(&q.Identity); err != nil {
				return err
			}
			r, err := callWithProgress[importer.Result](cmd.Context(), m, "import", q)
			if err != nil {
				return err
			}
			for _, w := range r.Wrong {
				fmt.Fprintf(m.Stderr, "minutebook: %v\n", w)
			}
			for _, path := range r.Unused {
				fmt.Fprintf(m.Stderr, "minutebook: %s is left out: its meeting has another recording; `recording` in the metadata can choose\n", importer.QuoteHidden(path))
			}
			if r.Expired > 0 {
				fmt.Fprintf(m.Stderr, "minutebook: %s left out: a retention rule has deleted the recordings of their meetings, and would delete these\n", phrase.Count(r.Expired, "recording was", "recordings were"))
			}
			if r.LostNotes > 0 {
				fmt.Fprintf(m.Stderr, "minutebook: %s left out: their meetings are not here, or were forgotten\n", phrase.Count(r.LostNotes, "note or tick was", "notes and ticks were"))
			}
			if r.UnknownAuthors > 0 {
				fmt.Fprintf(m.Stderr, "minutebook: %s left out: their authors are not known here; add those who were not removed with `minutebook user add`, and import again\n", phrase.Count(r.UnknownAuthors, "note or saved search was", "notes and saved searches were"))
			}
			if err := m.printResult(r, "%s read: %d new, %d changed, %d forgotten before, %s and %s added, %s wrong\n",
				phrase.Meetings(r.Read), r.New, r.Changed, r.Forgotten, phrase.Recordings(r.Recordings),
				phrase.Count(r.Notes, "note", "notes"), phrase.Count(r.LeftOut(), "line", "lines")); err != nil {
				return err
			}
			if len(r.Wrong) > 0 {
				return &control.Error{Message: phrase.Count(r.LeftOut(), "line was", "lines were") + " left out", ExitCode: 3}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&q.Account, "account", "", "import the meetings for this account (default: import)")
	cmd.Flags().StringVar(&q.Identity, "identity", "", "age identity `file`, for encrypted files")
	cmd.Flags().StringVar(&q.Owner, "owner", "", "the `person` (\"Name <address>\") who recorded transcripts that name nobody")
	checkFlag(cmd.Flags(), "owner", `an address such as ada@company.example or "Ada Lovelace <ada@company.example>"`, func(text string) error {
		_, err := mail.ParseAddress(text)
		return err
	})
	cmd.Flags().StringSliceVar(&q.VisibleTo, "visible-to", nil, "who sees transcripts that do not say it: addresses, team:Name, everyone")
	return m.jsonFlag(cmd)
}

// watchEvery is how often a watched folder is looked at. Files are taken at the second
// look that finds them unchanged.
const watchEvery = 10 * time.Second

// runImports imports from the watched folder until ctx ends.
func (d *daemon) runImports(ctx context.Context) error {
	for ctx.Err() == nil {
		changed := d.configChanged()
		d.deps().WatchImports(ctx, changed, watchEvery)
	}
	return nil
}

// absolutePaths resolves paths in the working directory of the command, which is
// not the one of the daemon.
func absolutePaths(paths []string) ([]string, error) {
	all := make([]string, len(paths))
	for i, path := range paths {
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		all[i] = nameOpenFile(abs)
	}
	return all, nil
}

// openFile is a name by which a process finds a file that it has open.
var openFile = regexp.MustCompile(`^(?:/dev|/proc/self)/fd/([0-9]+)$`)

// nameOpenFile returns a name that another process, the daemon, can open too, for a file
// that this one has open, such as /dev/stdin. It returns other names as they are.
func nameOpenFile(path string) string {
	number := []string{"", "0"}
	if path != "/dev/stdin" {
		number = openFile.FindStringSubmatch(path)
	}
	if number == nil || runtime.GOOS != "linux" {
		return path
	}
	return fmt.Sprintf("/proc/%d/fd/%s", os.Getpid(), number[1])
}
