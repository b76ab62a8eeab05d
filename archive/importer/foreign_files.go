package importer

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"

	"minutebook/archive/captions"
)

// folderMetadata is the name of a metadata file that makes one meeting of all the files
// of its folder. Any other is of the transcript with the same name.
const folderMetadata = "meeting.toml"

func isFolderMetadata(path string) bool { return filepath.Base(path) == folderMetadata }

// exportLedger is the file by which an export of this program is known.
const exportLedger = ".minutebook-export.db"

var (
	videoNames = []string{".mp4", ".m4v", ".mov", ".webm", ".mkv"}
	audioNames = []string{".m4a", ".mp3", ".wav", ".ogg", ".opus", ".flac", ".aac"}
)

func isAudioName(path string) bool { return slices.Contains(audioNames, extension(path)) }

func isRecordingName(path string) bool {
	return isAudioName(path) || slices.Contains(videoNames, extension(path))
}

func isTranscriptName(path string) bool {
	return slices.Contains(captions.Extensions(), extension(path))
}

func extension(path string) string { return strings.ToLower(filepath.Ext(path)) }

// stem returns a name without its ending as it is compared: a Mac writes letters and their
// accents one by one.
func stem(path string) string { return norm.NFC.String(strings.TrimSuffix(path, filepath.Ext(path))) }

// isSameName reports whether two names look the same.
func isSameName(a, b string) bool { return norm.NFC.String(a) == norm.NFC.String(b) }

// lister finds the meetings of other programs. It remembers the files of its listing, so
// that the next one opens only those that are new or changed, or could not be read.
type lister struct{ files map[string]*listedFile }

// listedFile is a file and its content, as far as it was looked at.
type listedFile struct {
	stamp
	isTranscript func() (bool, error)
	metadata     func() (Metadata, error)
	mayPass      bool // a look at the content failed and may succeed later
}

func newListedFile(path string, s stamp) *listedFile {
	f := &listedFile{stamp: s}
	f.isTranscript = sync.OnceValues(func() (is bool, err error) {
		is, err = isTranscript(path)
		f.mayPass = f.mayPass || mayPass(err)
		return is, err
	})
	f.metadata = sync.OnceValues(func() (m Metadata, err error) {
		m, err = readMetadata(path)
		f.mayPass = f.mayPass || mayPass(err)
		return m, err
	})
	return f
}

// isTranscript reports whether a file of the listing is a transcript of another program.
func (l *lister) isTranscript(path string) bool {
	is, _ := l.files[path].isTranscript()
	return is
}

// isTranscript reports whether a file is a transcript of another program. It fails when
// the file cannot be read.
func isTranscript(path string) (bool, error) {
	switch extension(path) {
	case ".vtt", ".srt":
		return true, nil
	case ".json":
		f, _, err := openFile(path)
		if err != nil {
			return false, err
		}
		defer f.Close()
		return captions.IsWhisper(io.LimitReader(f, captions.MaxSize(path))), nil
	}
	return false, nil
}

// foreignOf returns the meeting of one transcript: of all files with its name, or of its folder.
// In another format the transcript may say more.
func foreignOf(transcript string) (foreign, error) {
	dir := filepath.Dir(transcript)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return foreign{}, err
	}
	l := lister{files: map[string]*listedFile{}}
	var all, same []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") && path != transcript {
			continue
		}
		l.files[path] = newListedFile(path, stamp{})
		all = append(all, path)
		if stem(path) == stem(transcript) {
			same = append(same, path)
		}
	}
	if slices.Contains(all, filepath.Join(dir, folderMetadata)) {
		return l.folderMeeting(dir, all)
	}
	return l.group(same), nil
}

// list returns the meetings of other programs in a directory and below, and the files and
// folders that it cannot read or of which it cannot tell one. Hidden files, and everything
// in an export of this program, are left out.
func (l *lister) list(root string) (all []foreign, wrong []Wrong, err error) {
	folders, wrong, err := l.filesByFolder(root)
	if err != nil {
		return nil, nil, err
	}
	for dir, paths := range folders {
		slices.Sort(paths)
		for _, path := range paths {
			if _, err := l.files[path].isTranscript(); err != nil && !isGone(err) {
				wrong = append(wrong, unreadable(path, err))
			}
		}
		if slices.Contains(paths, filepath.Join(dir, folderMetadata)) {
			f, err := l.folderMeeting(dir, paths)
			if err == nil {
				all = append(all, f)
			} else {
				wrong = append(wrong, wrongIn(dir, err))
			}
			continue
		}
		byStem := map[string][]string{}
		for _, path := range paths {
			byStem[stem(path)] = append(byStem[stem(path)], path)
		}
		for _, same := range byStem {
			if f := l.group(same); f.transcript != "" {
				all = append(all, f)
			}
		}
	}
	slices.SortFunc(all, func(a, b foreign) int { return cmp.Compare(a.transcript, b.transcript) })
	slices.SortFunc(wrong, func(a, b Wrong) int { return cmp.Compare(a.File, b.File) })
	return all, wrong, nil
}

// filesByFolder returns the files below a folder by the folder that they lie in, without
// hidden ones and without the exports of an archive, and the files and folders that cannot
// be read. The folder itself may be a symbolic link; in it, none is followed.
func (l *lister) filesByFolder(root string) (folders map[string][]string, wrong []Wrong, err error) {
	folders = map[string][]string{}
	before := l.files
	l.files = make(map[string]*listedFile, len(before))
	root += string(filepath.Separator) // follows the link
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case isGone(err) && path != root:
			return nil // it was there a moment ago
		case err != nil && path != root:
			wrong = append(wrong, unreadable(path, err))
			return fs.SkipDir
		case err != nil:
			return err
		case strings.HasPrefix(d.Name(), ".") && path != root:
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
			if _, err := os.Stat(filepath.Join(path, exportLedger)); err == nil {
				return fs.SkipDir
			}
		case d.Type().IsRegular():
			now, err := stampFile(path)
			if isGone(err) {
				return nil
			} else if err != nil {
				wrong = append(wrong, unreadable(path, err))
				return nil
			}
			f := before[path]
			if f == nil || f.stamp != now || f.mayPass {
				f = newListedFile(path, now)
			}
			l.files[path] = f
			folders[filepath.Dir(path)] = append(folders[filepath.Dir(path)], path)
		default:
			if err := refuseKind(path, d.Type()); err != nil {
				wrong = append(wrong, unreadable(path, err))
			}
		}
		return nil
	})
	return folders, wrong, err
}

// errExport refuses to watch a folder from which nothing would be taken.
var errExport = errors.New("an export was written into it, and exports are left out; watch another folder, or remove " + exportLedger + " and the export's files")

// refuseExport fails for the folder of an export of this program.
func refuseExport(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, exportLedger)); err == nil {
		return errExport
	}
	return nil
}

// wrongIn returns an error as that of a file, which it may name already.
func wrongIn(file string, err error) Wrong {
	if wrong, ok := errors.AsType[Wrong](err); ok && wrong.File != "" {
		return wrong
	}
	return Wrong{File: file, Err: err}
}

// group makes a meeting of files with one name. Of several formats of the transcript it
// takes the one that tells most, and of several recordings the film.
func (l *lister) group(paths []string) (f foreign) {
	transcripts, recordings := l.sort(paths)
	for _, path := range paths {
		if extension(path) == ".toml" {
			f.metadata = path
		}
	}
	if len(recordings) > 0 {
		f.recording, f.unused = recordings[0], recordings[1:]
	}
	if len(transcripts) > 0 {
		f.transcript, f.formats = transcripts[0], transcripts[1:]
	}
	return f
}

// sort returns the transcripts of some files, the format that tells most first, and the
// recordings, films first.
func (l *lister) sort(paths []string) (transcripts, recordings []string) {
	for _, path := range paths {
		switch {
		case isRecordingName(path):
			recordings = append(recordings, path)
		case l.isTranscript(path):
			transcripts = append(transcripts, path)
		}
	}
	rank := func(path string) int {
		if isAudioName(path) {
			return 1
		}
		return slices.Index(captions.Extensions(), extension(path))
	}
	for _, files := range [][]string{transcripts, recordings} {
		slices.SortStableFunc(files, func(a, b string) int { return rank(a) - rank(b) })
	}
	return transcripts, recordings
}

// folderMeeting makes a meeting of a folder with a metadata file.
func (l *lister) folderMeeting(dir string, paths []string) (foreign, error) {
	f := foreign{metadata: filepath.Join(dir, folderMetadata)}
	meta, err := l.files[f.metadata].metadata()
	if err != nil {
		return f, err
	}
	transcripts, recordings := l.sort(paths)
	if f.transcript, err = choose(dir, "transcript", meta.Transcript, transcripts); err != nil {
		return f, err
	}
	if f.transcript == "" {
		return f, errors.New("there is a meeting.toml and no transcript (.vtt, .srt, .json)")
	}
	for _, path := range transcripts {
		if path != f.transcript && stem(path) == stem(f.transcript) {
			f.formats = append(f.formats, path)
		}
	}
	if f.recording, err = choose(dir, "recording", meta.Recording, recordings); meta.Recording == "" && len(recordings) > 0 {
		f.unused = recordings[1:] // nobody has chosen
	}
	return f, err
}

// choose returns the named file, or the first of those with one name.
func choose(dir, setting, name string, paths []string) (string, error) {
	if name != "" {
		for _, path := range paths {
			if isSameName(path, filepath.Join(dir, name)) {
				return path, nil
			}
		}
		return "", fmt.Errorf("meeting.toml: %s: there is no such file %q in the folder", setting, name)
	}
	for _, path := range paths {
		if stem(path) != stem(paths[0]) {
			return "", fmt.Errorf("there are %s and %s: name one in meeting.toml with %s = \"…\"", filepath.Base(paths[0]), filepath.Base(path), setting)
		}
	}
	if len(paths) == 0 {
		return "", nil
	}
	return paths[0], nil
}
