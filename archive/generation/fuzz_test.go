package generation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// FuzzManifest: a manifest that is accepted names only files inside its generation.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"version":2,"lineage":["e"],"files":[{"path":"archive.db.zst"}]}`))
	f.Add([]byte(`{"version":2,"lineage":["e"],"files":[{"path":"../../etc/passwd"}]}`))
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
