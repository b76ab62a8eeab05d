package importer

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
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
