package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"minutebook/internal/durable"
)

// manifestName is written last: a directory with a manifest is a backup.
const manifestName = "manifest.json"

const manifestVersion = 1

// Manifest says what a backup is made of.
type Manifest struct {
	Version      int            `json:"version"`
	TakenAt      time.Time      `json:"taken_at"`
	Epoch        string         `json:"epoch"` // of the archive that was backed up
	Seq          int64          `json:"seq"`   // head of its change log
	Meetings     int            `json:"meetings"`
	Encrypted    bool           `json:"encrypted"`
	WithoutMedia bool           `json:"without_media,omitempty"`
	Files        []ManifestFile `json:"files"`

	blobs     []Blob // the recordings that the databases name
	forgotten int    // tombstones in the databases
}

// ManifestFile is a file of a backup: as it is stored, and what it holds.
type ManifestFile struct {
	Path        string `json:"path"` // below the backup's directory, with slashes
	Size        int64  `json:"size"` // in bytes
	SHA256      string `json:"sha256"`
	PlainSize   int64  `json:"plain_size"` // before encryption
	PlainSHA256 string `json:"plain_sha256"`
}

// ErrNoBackup: there is no backup in the directory, or it was never completed.
var ErrNoBackup = errors.New("no complete backup here")

// DamagedError names everything that is wrong with a backup.
type DamagedError struct {
	Dir    string
	Damage []string // a line each, beginning with the file
}

// Error says what is damaged.
func (e *DamagedError) Error() string {
	const most = 20
	lines := e.Damage
	more := ""
	if len(lines) > most {
		more = fmt.Sprintf("; and %d more", len(lines)-most)
		lines = lines[:most]
	}
	return fmt.Sprintf("backup %s is damaged: %s%s", e.Dir, strings.Join(lines, "; "), more)
}

// signedManifest is what the file holds: the manifest and the hash of its bytes.
type signedManifest struct {
	Manifest json.RawMessage `json:"manifest"`
	SHA256   string          `json:"sha256"`
}

func writeManifest(dir string, m Manifest) error {
	m.TakenAt = stampOf(m.TakenAt)
	raw, err := json.Marshal(m)
	if err == nil {
		sum := sha256.Sum256(raw)
		raw, err = json.Marshal(signedManifest{raw, hex.EncodeToString(sum[:])})
	}
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return durable.WriteFile(filepath.Join(dir, manifestName), raw)
}

// readManifest fails with ErrNoBackup or a DamagedError.
func readManifest(dir string) (Manifest, error) {
	var m Manifest
	raw, err := os.ReadFile(filepath.Join(dir, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("read backup %s: %w", dir, ErrNoBackup)
	}
	if err != nil {
		return m, fmt.Errorf("read manifest: %w", err)
	}
	var signed signedManifest
	if err := json.Unmarshal(raw, &signed); err != nil {
		return m, &DamagedError{dir, []string{manifestName + ": " + err.Error()}}
	}
	if sum := sha256.Sum256(signed.Manifest); hex.EncodeToString(sum[:]) != signed.SHA256 {
		return m, &DamagedError{dir, []string{manifestName + ": its hash is another one than it says"}}
	}
	if err := json.Unmarshal(signed.Manifest, &m); err != nil {
		return m, &DamagedError{dir, []string{manifestName + ": " + err.Error()}}
	}
	if m.Version > manifestVersion {
		return m, fmt.Errorf("read backup %s: it has version %d: %w; restore it with the Minutebook that wrote it, or newer", dir, m.Version, ErrNewer)
	}
	for _, f := range m.Files {
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			return m, &DamagedError{dir, []string{f.Path + ": lies outside the backup"}}
		}
	}
	return m, nil
}

// CheckBackup reads a whole backup and compares it with its manifest. It fails
// with ErrNoBackup, or a DamagedError that names every file that is missing or
// has another content.
func CheckBackup(ctx context.Context, dir string) (Manifest, error) {
	m, err := readManifest(dir)
	if err != nil {
		return m, err
	}
	var damage []string
	for _, f := range m.Files {
		what, err := checkFile(ctx, filepath.Join(dir, filepath.FromSlash(f.Path)), f)
		if err != nil {
			return m, fmt.Errorf("check backup: %w", err)
		}
		if what != "" {
			damage = append(damage, f.Path+": "+what)
		}
	}
	if len(damage) > 0 {
		return m, &DamagedError{dir, damage}
	}
	return m, nil
}

// checkFile says what is wrong with a file, or "".
func checkFile(ctx context.Context, path string, want ManifestFile) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "is missing", nil
	}
	if err != nil {
		return err.Error(), nil
	}
	defer f.Close()
	c := &counter{Hash: sha256.New()}
	if _, err := io.Copy(c, contextReader{ctx, f}); err != nil {
		return err.Error(), ctx.Err()
	}
	switch {
	case c.n != want.Size:
		return fmt.Sprintf("has %d bytes instead of %d", c.n, want.Size), nil
	case c.sum() != want.SHA256:
		return "has another content than was written", nil
	}
	return "", nil
}

// counter hashes and counts what is written to it.
type counter struct {
	hash.Hash
	n int64
}

// Write is part of io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Hash.Write(p)
	c.n += int64(n)
	return n, err
}

func (c *counter) sum() string { return hexSum(c.Sum(nil)) }

// nopCloser is a writer whose Close does nothing.
type nopCloser struct{ io.Writer }

// Close is part of io.Closer.
func (nopCloser) Close() error { return nil }
