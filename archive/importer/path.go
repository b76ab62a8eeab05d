package importer

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"filippo.io/age"

	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/internal/seal"
)

// ReadPath imports a file or a directory: meetings as JSON, plain, compressed (gzip) or
// encrypted (age), such as the directory of an earlier export in the format json or
// ndjson, and meetings that other programs recorded: transcripts as WebVTT, SubRip or
// JSON of the Whisper family, with a recording and a [Metadata] file beside them.
// Encrypted files need identities. The result names wrong lines and files. ReadPath fails with
// a [Wrong] where it can do nothing with the path itself.
func ReadPath(ctx context.Context, a *archive.Archive, o Options, path string, identities ...age.Identity) (Result, error) {
	var all Result
	info, err := os.Stat(path)
	if err != nil {
		return all, unreadable(path, err)
	}
	files, others, err := listFiles(path, info, &all)
	if _, failed := errors.AsType[*fs.PathError](err); failed {
		return all, unreadable(path, err)
	} else if err != nil {
		return all, wrongIn(path, err)
	}
	if err := importForeign(ctx, a, o, others, &all); err != nil {
		return all, err
	}
	for _, file := range files {
		done := all.Read
		perFile := o
		if o.Progress != nil {
			perFile.Progress = func(n int) { o.Progress(done + n) }
		}
		r, err := readFile(ctx, a, perFile, file, !info.IsDir() && !info.Mode().IsRegular(), identities)
		wrong, isWrong := errors.AsType[Wrong](err)
		if wrong.File = file; isWrong && info.IsDir() {
			r.Wrong, err = append(r.Wrong, wrong), nil // the others are well
		}
		for i := range r.Wrong {
			r.Wrong[i].File = file
		}
		all.Add(r)
		if isWrong && err != nil {
			return all, wrong
		} else if err != nil {
			return all, fmt.Errorf("import %s: %w", file, err)
		}
	}
	return all, nil
}

// importForeign imports meetings of other programs. It skips those with an error in a
// file.
func importForeign(ctx context.Context, a *archive.Archive, o Options, others []foreign, all *Result) error {
	o.store = &storeState{}
	for _, f := range others {
		if o.Taken[f.transcript] {
			continue
		} else if o.Taken != nil {
			o.Taken[f.transcript] = true
		}
		im := newRun(a, o)
		im.Progress = nil
		err := im.importOne(ctx, f)
		if wrong, ok := errors.AsType[Wrong](err); ok {
			im.result.Wrong, err = append(im.result.Wrong, wrong), nil
		}
		all.Add(im.result)
		if err != nil {
			return fmt.Errorf("import %s: %w", f.transcript, err)
		}
		if o.Progress != nil {
			o.Progress(all.Read)
		}
	}
	return nil
}

func (im *run) importOne(ctx context.Context, f foreign) error {
	m, err := readForeign(f)
	if err != nil {
		return err
	}
	row, err := im.identify(ctx, &m, 0, false)
	if err != nil {
		return err
	}
	return im.addForeign(ctx, m, row)
}

// plainName returns the name that a file had before it was compressed and encrypted.
func plainName(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".age"), ".gz")
}

// isNotes reports whether a file of an export holds the rows of notes.db instead of meetings.
func isNotes(path string) bool { return plainName(path) == notes.FileName }

// readNotes imports the notes, ticks, merged people and saved searches of an export.
func readNotes(ctx context.Context, o Options, r io.Reader) (Result, error) {
	if o.Notes == nil {
		return Result{}, nil
	}
	sum, err := o.Notes.ReadLines(ctx, r, o.Authors)
	result := Result{Notes: sum.New, LostNotes: sum.Skipped, UnknownAuthors: sum.Unknown}
	for _, w := range sum.Wrong {
		result.Wrong = addWrong(result.Wrong, Wrong{Line: w.Line, Err: w.Err})
	}
	return result, err
}

// listFiles returns the files of a path that have meetings as JSON, and the meetings of
// other programs.
func listFiles(path string, info fs.FileInfo, result *Result) (files []string, others []foreign, err error) {
	if !info.IsDir() {
		return listFile(path, info)
	}
	if others, result.Wrong, err = new(lister).list(path); err != nil {
		return nil, nil, err
	}
	files, wrong, err := listJSON(path)
	if err != nil {
		return nil, nil, err
	}
	for _, w := range wrong {
		if !slices.ContainsFunc(result.Wrong, func(known Wrong) bool { return known.File == w.File }) {
			result.Wrong = append(result.Wrong, w)
		}
	}
	files = slices.DeleteFunc(files, func(file string) bool {
		return slices.ContainsFunc(result.Wrong, func(w Wrong) bool { return w.File == file })
	})
	if len(files) == 0 && len(others) == 0 && len(result.Wrong) == 0 {
		err = errors.New("there is nothing to import in it: no .json or .ndjson of an export, and no transcript (.vtt, .srt, JSON of Whisper); " +
			"exports as md, html, txt or subtitles cannot be read back")
	}
	return files, others, err
}

// listFile returns a file as one that has meetings as JSON, or as the meeting of another
// program. A pipe has JSON. Recordings, metadata and the texts that Whisper writes besides are
// passed over: a pattern of the shell names their transcript too.
func listFile(path string, info fs.FileInfo) ([]string, []foreign, error) {
	if !info.Mode().IsRegular() {
		if slices.Contains([]string{".vtt", ".srt"}, extension(path)) {
			return nil, nil, errNoFile
		}
		return []string{path}, nil, nil
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, nil, err
	}
	if isRecordingName(path) || slices.Contains([]string{".toml", ".txt", ".tsv"}, extension(path)) {
		return nil, nil, checkTranscript(path)
	}
	if is, err := isTranscript(path); !is || err != nil {
		return []string{path}, nil, err
	}
	f, err := foreignOf(path)
	return nil, []foreign{f}, err
}

// checkTranscript fails for a recording, a metadata file or a text without a transcript that
// belongs to it.
func checkTranscript(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	isFolder := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return isFolderMetadata(e.Name()) })
	for _, e := range entries {
		other := filepath.Join(filepath.Dir(path), e.Name())
		if !isFolder && stem(other) != stem(path) || !isTranscriptName(other) {
			continue
		}
		if is, _ := isTranscript(other); is {
			return nil
		}
	}
	return errors.New("it is no transcript, and there is none beside it with its name (.vtt, .srt, JSON of Whisper)")
}

// listJSON returns the files of a directory that have meetings as JSON, notes last: their
// meetings have to be there. Links and pipes in the place of such files are wrong.
func listJSON(path string) (files []string, wrong []Wrong, err error) {
	isExport := false
	if _, err := os.Stat(filepath.Join(path, exportLedger)); err == nil {
		isExport = true
	}
	path += string(filepath.Separator) // follows a link
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil && p != path && d.IsDir() {
			return fs.SkipDir // the lister has named it
		}
		if err != nil {
			return err
		}
		name := plainName(p)
		hidden := strings.HasPrefix(name, ".") && p != path
		if d.IsDir() {
			if hidden {
				return fs.SkipDir
			}
			return nil
		}
		switch filepath.Ext(name) {
		case ".json", ".ndjson", ".jsonl":
			if hidden {
				return nil
			}
			if !d.Type().IsRegular() {
				err := errNoFile
				if d.Type()&fs.ModeSymlink != 0 {
					err = errLink
				}
				wrong = append(wrong, unreadable(p, err))
				return nil
			}
			if is, _ := isTranscript(p); isExport || !is {
				files = append(files, p)
			}
		}
		return nil
	})
	slices.SortStableFunc(files, func(a, b string) int {
		switch x, y := isNotes(a), isNotes(b); {
		case x && !y:
			return 1
		case y && !x:
			return -1
		}
		return 0
	})
	return files, wrong, err
}

// readFile imports one file, or a pipe. It fails with a [Wrong] for one that it cannot open
// or decode.
func readFile(ctx context.Context, a *archive.Archive, o Options, path string, isPipe bool, identities []age.Identity) (Result, error) {
	open := func() (f *os.File, err error) { f, _, err = openFile(path); return f, err }
	if isPipe {
		open = func() (*os.File, error) { return openPipe(ctx, path) }
	}
	f, err := open()
	if ctx.Err() != nil {
		return Result{}, errors.Join(ctx.Err(), closeFile(f))
	} else if err != nil {
		return Result{}, unreadable(path, err)
	}
	defer f.Close()
	content, release := readUntil(ctx, f)
	defer release()
	if o.At.IsZero() {
		info, err := f.Stat()
		if err != nil {
			return Result{}, err
		}
		o.At = info.ModTime()
		if now := a.Now(); o.At.After(now) {
			o.At = now
		}
	}
	r, err := decode(content, identities)
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	} else if err != nil {
		return Result{}, Wrong{File: path, Err: err}
	}
	if isNotes(path) {
		return readNotes(ctx, o, r)
	}
	return Read(ctx, a, o, r)
}

// decode decrypts, then decompresses, when the first bytes are those of such a file.
func decode(r io.Reader, identities []age.Identity) (io.Reader, error) {
	br, err := seal.Reader(r, identities)
	if err != nil {
		return nil, err
	}
	if head, _ := br.Peek(2); string(head) != "\x1f\x8b" {
		return br, nil
	}
	content, err := gzip.NewReader(br)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return content, nil
}
