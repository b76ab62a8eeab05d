package generation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// FuzzManifest: a manifest that is accepted names only files inside its generation.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"version":2,"lineage":["e"],"files":[{"path":"archive.db.zst"}]}`))
	f.Add([]byte(`{"version":2,"lineage":["e"],"files":[{"path":"../../etc/passwd"}]}`))
	f.Add([]byte(`{"version":2,"lineage":["e"],"files":[{"path":"../\u001b[2J"}]}`))
	f.Add([]byte(`{"version":1,"epoch":"e","files":null}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, raw []byte) {
		sum := sha256.Sum256(raw)
		whole, err := json.Marshal(signedManifest{raw, hex.EncodeToString(sum[:])})
		if err != nil {
			whole = raw
		}
		if err := os.WriteFile(filepath.Join(dir, ManifestName), whole, 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := readManifest(t.Context(), folder(dir), "")
		if err != nil {
			if strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Errorf("%q", err)
			}
			return
		}
		for _, file := range m.Files {
			if !filepath.IsLocal(file.Path) {
				t.Errorf("it names %q", file.Path)
			}
		}
		if len(m.Lineage) == 0 {
			t.Error("it is of no archive")
		}
	})
}

// FuzzForgotten: whatever the record of forgotten meetings holds, one more is noted and
// none that could be read is lost; a damaged record is kept aside.
func FuzzForgotten(f *testing.F) {
	f.Add([]byte(`[{"recording_id":2,"forgotten_at":"2026-03-01T09:00:00Z"},{"recording_id":1}]`))
	f.Add([]byte(`[{"recording_id":7},null,{"recording_id":7,"forgotten_at":"9999-12-31T23:59:59-12:00"}]`))
	f.Add([]byte(`null`))
	f.Add([]byte(`[{"recording_id":"x\u001b"}]`))
	f.Add([]byte(``))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, raw []byte) {
		ctx, place := t.Context(), folder(dir)
		if err := os.WriteFile(filepath.Join(dir, forgottenName), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		before, err := ReadForgotten(ctx, place)
		if err != nil && strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Errorf("%q", err)
		}
		aside, noteErr := NoteForgotten(ctx, place, []Forgotten{{RecordingID: 5}})
		after, readErr := ReadForgotten(ctx, place)
		if noteErr != nil || readErr != nil {
			t.Fatalf("%q: %v, %v", raw, noteErr, readErr)
		}
		for _, m := range append(before, Forgotten{RecordingID: 5}) {
			if !slices.ContainsFunc(after, func(k Forgotten) bool { return k.RecordingID == m.RecordingID }) {
				t.Errorf("%q: %d is not noted", raw, m.RecordingID)
			}
		}
		if err == nil {
			return
		}
		if kept, err := os.ReadFile(filepath.Join(dir, aside)); err != nil || string(kept) != string(raw) {
			t.Errorf("%q is kept aside as %q, %v", raw, kept, err)
		}
	})
}
