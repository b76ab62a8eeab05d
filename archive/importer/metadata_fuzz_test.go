package importer

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"filippo.io/age"

	"minutebook/internal/seal"
)

// FuzzMetadata: whatever stands in a metadata file, the meeting is read or the error
// names the file.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte(talkTOML))
	f.Add([]byte("start = 2026-03-01\nduration = \"1h\"\n[speakers]\n\"\" = 3"))
	f.Add([]byte("visible_to = [\"team:\", \"@\", \"everyone\"]\nrecorded_by = \"<\""))
	dir := f.TempDir()
	path, talk := filepath.Join(dir, "m.toml"), filepath.Join(dir, "m.vtt")
	if err := os.WriteFile(talk, []byte(talkVTT), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := readForeign(foreign{transcript: talk, metadata: path})
		if err == nil {
			err = m.fill(&Options{}, nil, false)
		}
		var wrong Wrong
		if err != nil && !errors.As(err, &wrong) {
			t.Errorf("the error names no file: %v", err)
		}
		if err == nil && m.words == 0 {
			t.Error("a meeting without an id")
		}
	})
}

// FuzzPacked: of a compressed or encrypted file that is damaged at one place and cut off,
// all meetings are read, or the damage is named in words without characters that nobody sees.
func FuzzPacked(f *testing.F) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		f.Fatal(err)
	}
	const text = "{\"recording_id\":1}\n{\"recording_id\":2}\n{\"recording_id\":3}\n"
	pack := func(recipients ...age.Recipient) []byte {
		var packed bytes.Buffer
		sealed, err := seal.Writer(&packed, recipients)
		if err != nil {
			f.Fatal(err)
		}
		zipped := gzip.NewWriter(sealed)
		_, err = io.WriteString(zipped, text)
		if err := errors.Join(err, zipped.Close(), sealed.Close()); err != nil {
			f.Fatal(err)
		}
		return packed.Bytes()
	}
	files := map[bool][]byte{true: pack(key.Recipient()), false: pack()}
	f.Add(uint16(0), byte(0), uint16(0), false)
	f.Add(uint16(0), byte(1), uint16(0), false)
	f.Add(uint16(3), byte(255), uint16(1), false)
	f.Add(uint16(30), byte(4), uint16(0), true)
	f.Add(uint16(200), byte(7), uint16(9), true)
	f.Fuzz(func(t *testing.T, at uint16, change byte, cut uint16, sealed bool) {
		raw := bytes.Clone(files[sealed])
		raw[int(at)%len(raw)] ^= change
		raw = raw[:len(raw)-int(cut)%len(raw)]
		if len(bytes.TrimSpace(raw)) == 0 {
			return // a file of blanks has no meetings
		}
		meetings, wrong := 0, 0
		content, err := decode(bytes.NewReader(raw), []age.Identity{key})
		if err == nil {
			err = eachObject(content, func(_ int, _ []byte, err error) error {
				if meetings++; err != nil {
					meetings, wrong = meetings-1, wrong+1
				}
				return nil
			})
		}
		if err == nil && wrong == 0 && meetings != 3 {
			t.Errorf("%d of 3 meetings were read of %q, without a word", meetings, raw)
		}
		if err != nil && strings.ContainsFunc(strings.ReplaceAll(err.Error(), "\n", "; "), unicode.IsControl) { // as phrase.Error shows it
			t.Errorf("%q", err)
		}
	})
}
