package importer

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

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

func extension(path string) string { return strings.ToLower(filepath.Ext(path)) }

func stem(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) }

// isTranscript reports whether a file is a transcript of another program.
func isTranscript(path string) bool {
	switch extension(path) {
	case ".vtt", ".srt":
		return true
	case ".json":
		f, err := os.Open(path)
		if err != nil {
			return false
		}
		defer f.Close()
		return captions.IsWhisper(io.LimitReader(f, maxTranscript))
	}
	return false
}

// foreignOf returns the meeting of one transcript: with the metadata and the recording
// of the same name, or of its folder.
func foreignOf(transcript string) (foreign, error) {
	dir := filepath.Dir(transcript)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return foreign{}, err
	}
	var all, same []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case !e.Type().IsRegular() || isTranscript(path) && path != transcript:
		case stem(path) == stem(transcript):
			same = append(same, path)
			fallthrough
		default:
			all = append(all, path)
		}
	}
	if slices.Contains(all, filepath.Join(dir, folderMetadata)) {
		return folderMeeting(dir, all)
	}
	return group(same), nil
}

// listForeign returns the meetings of other programs in a directory and below, and the
// folders of which it cannot tell one. Hidden files, and everything in an export of this
// program, are left out.
func listForeign(root string) (all []foreign, wrong []Wrong, err error) {
	folders, wrong, err := filesByFolder(root)
	if err != nil {
		return nil, nil, err
	}
	for dir, paths := range folders {
		slices.Sort(paths)
		if slices.Contains(paths, filepath.Join(dir, folderMetadata)) {
			f, err := folderMeeting(dir, paths)
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
			if f := group(same); f.transcript != "" {
				all = append(all, f)
			}
		}
	}
	slices.SortFunc(all, func(a, b foreign) int { return cmp.Compare(a.transcript, b.transcript) })
	slices.SortFunc(wrong, func(a, b Wrong) int { return cmp.Compare(a.File, b.File) })
	return all, wrong, nil
}

// filesByFolder returns the files below a folder by the folder that they lie in, without
// hidden ones and without the exports of an archive, and the folders that cannot be read.
// The folder itself may be a symbolic link; in it, none is followed.
func filesByFolder(root string) (folders map[string][]string, wrong []Wrong, err error) {
	folders = map[string][]string{}
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
			folders[filepath.Dir(path)] = append(folders[filepath.Dir(path)], path)
		}
		return nil
	})
	return folders, wrong, err
}

// wrongIn returns an error as that of a file, which it may name already.
func wrongIn(file string, err error) Wrong {
	if wrong, ok := errors.AsType[Wrong](err); ok && wrong.File != "" {
		return wrong
	}
	return Wrong{File: file, Err: err}
}

// group makes a meeting of files with one name. Of several formats of the transcript it
// takes the one that tells most.
func group(paths []string) (f foreign) {
	for _, path := range paths {
		switch {
		case extension(path) == ".toml":
			f.metadata = path
		case isRecordingName(path):
			f.recording = cmp.Or(f.recording, path)
		case isTranscript(path) && (f.transcript == "" || formatRank(path) < formatRank(f.transcript)):
			f.transcript = path
		}
	}
	return f
}

func formatRank(path string) int { return slices.Index(captions.Extensions(), extension(path)) }

// folderMeeting makes a meeting of a folder with a metadata file.
func folderMeeting(dir string, paths []string) (foreign, error) {
	f := foreign{metadata: filepath.Join(dir, folderMetadata)}
	meta, err := readMetadata(f.metadata)
	if err != nil {
		return f, err
	}
	var transcripts, recordings []string
	for _, path := range paths {
		switch {
		case isRecordingName(path):
			recordings = append(recordings, path)
		case isTranscript(path):
			transcripts = append(transcripts, path)
		}
	}
	slices.SortStableFunc(transcripts, func(a, b string) int { return formatRank(a) - formatRank(b) })
	if f.transcript, err = choose(dir, "transcript", meta.Transcript, transcripts); err != nil {
		return f, err
	}
	if f.transcript == "" {
		return f, errors.New("there is a meeting.toml and no transcript (.vtt, .srt, .json)")
	}
	f.recording, err = choose(dir, "recording", meta.Recording, recordings)
	return f, err
}

// choose returns the named file, or the first of those with one name.
func choose(dir, setting, name string, paths []string) (string, error) {
	if name != "" {
		path := filepath.Join(dir, name)
		if !slices.Contains(paths, path) {
			return "", fmt.Errorf("meeting.toml: %s: there is no such file %q in the folder", setting, name)
		}
		return path, nil
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

// date is a date, and perhaps a time, in the name of a file: as in "2026-03-01 10.00
// Weekly.vtt" and in "GMT20260301-100000_Recording.vtt".
var date = regexp.MustCompile(`(GMT)?((?:19|20)\d\d)-?(\d\d)-?(\d\d)(?:[-_T ]+(\d\d)[-.:h]?(\d\d)(?:[-.:]?(\d\d))?)?`)

// guessByName returns the title and the time that the name of a file says. The time is
// zero when it says none.
func guessByName(name string, zone *time.Location) (title string, at time.Time) {
	title = name
	for ext := extension(title); slices.Contains(captions.Extensions(), ext) || ext == ".transcript"; ext = extension(title) {
		title = stem(title)
	}
	if found := date.FindStringSubmatchIndex(title); found != nil {
		fields := date.FindStringSubmatch(title)
		if fields[1] != "" {
			zone = time.UTC
		}
		digits := fields[2] + fields[3] + fields[4] + (fields[5] + fields[6] + fields[7] + "000000")[:6]
		if parsed, err := time.ParseInLocation("20060102150405", digits, zone); err == nil {
			at, title = parsed, title[:found[0]]+" "+title[found[1]:]
		}
	}
	title = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(title, "\ufffd"), func(r rune) bool { return r == '_' || unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if title = strings.Trim(title, " -.,"); title == "" {
		title = "Meeting"
	}
	return title, at
}
