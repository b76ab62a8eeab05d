package archive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/export"
)

// measuredOperation names, in the environment, the operation of the process.
const measuredOperation = "MINUTEBOOK_BENCH_OPERATION"

// operations must not take more memory for a larger archive. Each is
// run in a process of its own, with the directory of an archive and another.
var operations = []struct {
	name string
	do   func(ctx context.Context, a *archive.Archive, scratch string) error
}{
	{"open", func(context.Context, *archive.Archive, string) error { return nil }},
	{"apply", applyLines},
	{"read", readSome},
	{"verify", func(ctx context.Context, a *archive.Archive, _ string) error {
		_, err := a.Verify(ctx, archive.VerifyOptions{SkipMedia: true}, func(archive.Damage) {})
		return err
	}},
	{"export-md", exportTo(export.Markdown)},
	{"export-ndjson", exportTo(export.NDJSON)},
	{"rebuild", func(ctx context.Context, a *archive.Archive, _ string) error { return a.Rebuild(ctx, nil) }},
	{"import-captions-64MiB", importFile(captionsFile)},
	{"import-meeting-64MiB", importFile(meetingFile)},
}

const (
	appliedLines = 500
	linesFile    = "lines.ndjson"
)

// applyLines applies the meetings of a file in batches of 10.
func applyLines(ctx context.Context, a *archive.Archive, scratch string) error {
	f, err := os.Open(filepath.Join(scratch, linesFile))
	if err != nil {
		return err
	}
	defer f.Close()
	var batch []archive.Observation
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			o, err := archive.FromMeeting("bench", archive.SourceList, corpusDay, line)
			if err != nil {
				return err
			}
			batch = append(batch, o)
		}
		if len(batch) == 10 || err == io.EOF {
			if _, err := a.Apply(ctx, batch); err != nil {
				return err
			}
			batch = nil
		}
		if err != nil {
			return nil
		}
	}
}

// readSome lists a thousand meetings and reads each whole.
func readSome(ctx context.Context, a *archive.Archive, _ string) error {
	rows, err := a.List(ctx, archive.ListQuery{Viewer: archive.Viewer{All: true}, Limit: 1000})
	if err != nil {
		return err
	}
	for _, row := range rows {
		if _, err := a.Meeting(ctx, archive.Viewer{All: true}, row.RecordingID); err != nil {
			return err
		}
		if _, err := a.Entries(ctx, row.RecordingID, 0, -1); err != nil {
			return err
		}
	}
	return nil
}

func exportTo(format export.Format) func(context.Context, *archive.Archive, string) error {
	return func(ctx context.Context, a *archive.Archive, scratch string) error {
		_, err := export.Run(ctx, a, export.Options{Dir: filepath.Join(scratch, "out"), Format: format})
		return err
	}
}

// measured is the process that is measured: it does the operation that its
// environment names on the archive in its working directory, and prints the most
// bytes that it had resident.
func measured(what string) int {
	name, scratch, _ := strings.Cut(what, ":")
	err := fmt.Errorf("unknown operation %q", name)
	for _, o := range operations {
		if o.name != name {
			continue
		}
		var a *archive.Archive
		if a, err = archive.Open(context.Background(), archive.Options{Dir: ".", Logger: zerolog.Nop()}); err == nil {
			err = o.do(context.Background(), a, scratch)
		}
	}
	if err == nil {
		var peak int64
		if peak, err = peakResident(); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(peak)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// peakResident reads Linux' own count. A resource usage would tell of the
// process that started this one.
func peakResident() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.ParseInt(kb, 10, 64)
	return n << 10, err
}

// BenchmarkMemory: the same for a tenth of the meetings and for all.
func BenchmarkMemory(b *testing.B) {
	if _, err := peakResident(); err != nil {
		b.Skipf("the peak of memory cannot be read here: %v", err)
	}
	for _, o := range operations {
		b.Run(o.name, func(b *testing.B) {
			for b.Loop() {
				few := peakOf(b, o.name, options.meetings/10)
				all := peakOf(b, o.name, options.meetings)
				b.ReportMetric(few/(1<<20), "MB-of-a-tenth")
				b.ReportMetric(all/(1<<20), "MB-of-all")
				b.ReportMetric(all/few, "ratio")
			}
		})
	}
}

// peakOf runs an operation on an archive of n meetings; one that writes, on a
// copy.
func peakOf(b *testing.B, operation string, n int) float64 {
	b.Helper()
	dir, scratch := built(b, n), b.TempDir()
	switch operation {
	case "apply":
		writeLines(b, filepath.Join(scratch, linesFile), n)
		fallthrough
	case "rebuild":
		dir = copyOf(b, dir)
	case "import-captions-64MiB":
		writeCaptions(b, filepath.Join(scratch, captionsFile))
		dir = copyOf(b, dir)
	case "import-meeting-64MiB":
		writeMeeting(b, filepath.Join(scratch, meetingFile))
		dir = copyOf(b, dir)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Dir = dir
	environ := slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "GO") }) // GOGC, of whoever measures
	cmd.Env = append(environ, measuredOperation+"="+operation+":"+scratch)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	var peak float64
	if err == nil {
		err = json.Unmarshal(out, &peak)
	}
	if err != nil {
		b.Fatalf("%v: %s", err, failure.Bytes())
	}
	return peak
}

// writeLines writes meetings that the archive of n has not.
func writeLines(b *testing.B, path string, n int) {
	b.Helper()
	r := source(b)
	var lines bytes.Buffer
	for i := range appliedLines {
		raw, err := json.Marshal(r.Meeting(n + 1 + i))
		if err != nil {
			b.Fatal(err)
		}
		lines.Write(append(raw, '\n'))
	}
	if err := os.WriteFile(path, lines.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
}

// copyOf copies the databases of an archive that is closed.
func copyOf(b *testing.B, dir string) string {
	b.Helper()
	to := b.TempDir()
	databases, err := filepath.Glob(filepath.Join(dir, "*.db"))
	if err != nil || len(databases) == 0 {
		b.Fatal(dir, databases, err)
	}
	for _, path := range databases {
		copyFile(b, path, filepath.Join(to, filepath.Base(path)))
	}
	return to
}

func copyFile(b *testing.B, path, to string) {
	b.Helper()
	from, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if _, err := io.Copy(f, from); err != nil {
		b.Fatal(err)
	}
}
