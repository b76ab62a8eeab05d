package importer

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"minutebook/archive/archivetest"
)

// FuzzFiles: of a directory with any bytes in the place of meetings, or of a talk of another
// program with its metadata, the meetings enter the archive and each fault is named, and a
// second time nothing enters.
func FuzzFiles(f *testing.F) {
	names := []string{"m.ndjson", "m.json", "talk.vtt", "talk.srt", "talk.json", "m.ndjson.gz"}
	f.Add(byte(0), archivetest.Meeting(1, "one", "a"), []byte{})
	f.Add(byte(0), []byte(`{"recording_id":7,"title":null,"transcript":[{"text":7}],"action_items":[null],"recorded_by":"x","calendar_invitees":[{"email":"a\u0000"}],"created_at":"9999-12-31T23:59:60Z"}`+"\n{\"recording_id\":7}"), []byte{})
	f.Add(byte(1), []byte(`{"items":[{"recording_id":9007199254740993,"highlights":{},"default_summary":[],"crm_matches":{"deals":7}}]}`), []byte{})
	f.Add(byte(2), []byte(talkVTT), []byte(talkTOML))
	f.Add(byte(3), []byte("1\n00:00:01,000 --> 00:00:00,000\nAnn: \xff\n\n2\n99:59:59,999 --> 00:00:02,000\n- \n"), []byte("start = 9999-12-31T23:59:59Z\nduration = \"9999h\"\nvisible_to = [\"everyone\"]"))
	f.Add(byte(4), []byte(heardJSON), []byte("title = \"\\u0000\"\nrecorded_by = \"Ann <a@b>\"\n[speakers]\n\"a\" = \"b\""))
	f.Add(byte(4), []byte(`{"segments":[{"start":-1e300,"end":"x","text":"a","speaker":7},{"start":1e300,"text":"\ud800"}],"text":7}`), []byte{})
	f.Add(byte(5), []byte("\x1f\x8b\x08\x00\x00"), []byte("="))
	a := archivetest.OpenAt(f, archivetest.Dir(f), func() time.Time { return archivetest.Epoch })
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, name byte, content, metadata []byte) {
		path, about := filepath.Join(dir, names[int(name)%len(names)]), filepath.Join(dir, "talk.toml")
		defer func() {
			if err := errors.Join(os.Remove(path), os.RemoveAll(about)); err != nil {
				t.Error(err)
			}
		}()
		err := os.WriteFile(path, content, 0o600)
		if err == nil && len(metadata) > 0 {
			err = os.WriteFile(about, metadata, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		for again := range 2 {
			r, err := ReadPath(t.Context(), a, Options{Owner: "Ann <ann@acme.example>"}, dir)
			if _, isWrong := errors.AsType[Wrong](err); err != nil && !isWrong {
				t.Fatalf("%s: %q, %q: %v", path, content, metadata, err)
			}
			if again == 1 && (r.New > 0 || r.Changed > 0) {
				t.Errorf("%s: %q, %q: a second time %+v", path, content, metadata, r)
			}
			for _, w := range r.Wrong {
				if strings.ContainsFunc(strings.ReplaceAll(w.Error(), "\n", "; "), unicode.IsControl) {
					t.Errorf("%s: %q, %q: %q", path, content, metadata, w.Error())
				}
			}
		}
	})
}
