package generation

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"minutebook/internal/phrase"
	"minutebook/internal/sqlite"
)

// ManifestName is the file that is written last: a generation with it is whole.
const ManifestName = "manifest.json"

// Versions of a manifest. The first one described the only backup of its
// directory, and had neither lineage nor meetings.
const (
	FirstVersion = 1
	Version      = 2
)

// Manifest describes a generation and all its files.
type Manifest struct {
	Version int       `json:"version"`
	TakenAt time.Time `json:"taken_at"`
	// Lineage are the epochs of the archive, the last one that of the copy. The
	// first one is the archive's identity.
	Lineage  []string `json:"lineage"`
	Epoch    string   `json:"epoch"` // of the archive that was backed up
	Seq      int64    `json:"seq"`   // head of its change log
	Meetings int      `json:"meetings"`
	IDs      []int64  `json:"recording_ids"` // in rising order
	// DeliveredIDs are the recordings of which the inbox has the words, in rising order. The
	// archive may not have them yet.
	DeliveredIDs []int64 `json:"delivered_recording_ids,omitempty"`
	// AcceptedFewer: a person has said that meetings of earlier generations are
	// missing with good reason.
	AcceptedFewer bool   `json:"accepted_fewer,omitempty"`
	Encrypted     bool   `json:"encrypted"`
	WithoutMedia  bool   `json:"without_media,omitempty"`
	Files         []File `json:"files"`
	// Lost are the recordings of meetings that this generation does not have.
	Lost []Lost `json:"lost,omitempty"`
	// GivenUp is the content that repairs have taken out of the archive and that has not come
	// back. A generation that does not name it was made before, and may have it.
	GivenUp []Content `json:"given_up,omitempty"`
}

// Content is a version of a part of a meeting, or a recording.
type Content struct {
	RecordingID int64  `json:"recording_id"` // 0 where it is unknown
	Part        string `json:"part"`         // "recording" for a recording
	Hash        string `json:"hash"`         // in hex, the SHA-256 of a recording's bytes; "" where it is unknown
}

// MayHave reports whether the generation may have content that a later one has given up.
func (m Manifest) MayHave(c Content) bool {
	switch {
	case slices.Contains(m.GivenUp, c):
		return false
	case c.Part == RecordingPart:
		return slices.ContainsFunc(m.Files, func(f File) bool { return f.PlainSHA256 == c.Hash })
	}
	return c.RecordingID == 0 || m.Version == FirstVersion || slices.Contains(m.IDs, c.RecordingID)
}

// RecordingPart is the part of a recording in [Content].
const RecordingPart = "recording"

// File is a file of a backup: as it is stored, and its content.
type File struct {
	Path        string `json:"path"` // below the directory of backups, with slashes
	Size        int64  `json:"size"` // in bytes
	SHA256      string `json:"sha256"`
	PlainSize   int64  `json:"plain_size"` // before compression and encryption
	PlainSHA256 string `json:"plain_sha256"`
}

// Lost is a recording that could not be backed up. It names its meetings by their recording_id, as
// it is in manifests, which are not encrypted, and in the log.
type Lost struct {
	SHA256   string  `json:"sha256"`
	Meetings []int64 `json:"recording_ids"` // the meetings that have it
	Reason   string  `json:"what"`          // the reason
}

// String returns a line for a person to read.
func (l Lost) String() string {
	return fmt.Sprintf("the recording of meeting %s is not in the backup: %s (%s)", strings.Trim(fmt.Sprint(l.Meetings), "[]"), l.Reason, l.SHA256)
}

// ErrNone: there is no backup in the directory, or it was never completed.
var ErrNone = errors.New("no complete backup here")

// DamagedError names every damage of a backup.
type DamagedError struct {
	Dir    string
	Damage []string // a line each, beginning with the file
}

// Error names up to 20 damages, without control characters that a file repeats.
func (e *DamagedError) Error() string {
	const most = 20
	lines := e.Damage
	more := ""
	if len(lines) > most {
		more = fmt.Sprintf("; and %d more", len(lines)-most)
		lines = lines[:most]
	}
	return fmt.Sprintf("backup %s is damaged: %s%s", e.Dir, phrase.Tame(strings.Join(lines, "; ")), more)
}

// signedManifest is the content of the file: the manifest and the hash of its bytes.
type signedManifest struct {
	Manifest json.RawMessage `json:"manifest"`
	SHA256   string          `json:"sha256"`
}

// WriteManifest writes the manifest of the generation of a name, and reads it back. From then on
// the generation is whole.
func WriteManifest(ctx context.Context, place Place, name string, m Manifest) error {
	raw, err := sign(m)
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	file := path.Join(name, ManifestName)
	if err := place.Create(ctx, file, raw); err != nil {
		return err
	}
	stored, err := readFile(ctx, place, file)
	if err == nil && !bytes.Equal(stored, raw) {
		err = errors.New("it has another content than was written")
	}
	if err != nil {
		return fmt.Errorf("read back the manifest: %w", err)
	}
	return nil
}

// sign returns the content of a manifest's file.
func sign(m Manifest) ([]byte, error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	return json.Marshal(signedManifest{raw, hex.EncodeToString(sum[:])})
}

// readManifest reads the manifest of a generation, or of the only backup of a
// place when name is "". It fails with [ErrNone], [sqlite.ErrNewer] or a [DamagedError].
func readManifest(ctx context.Context, place Place, name string) (Manifest, error) {
	return readSigned(ctx, place, path.Join(name, ManifestName))
}

// readSigned reads a manifest's file.
func readSigned(ctx context.Context, place Place, file string) (Manifest, error) {
	var m Manifest
	damaged := func(reason string) error { return &DamagedError{place.String(), []string{file + ": " + reason}} }
	raw, err := readFile(ctx, place, file)
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("read backup %s: %w", place, ErrNone)
	}
	if err != nil {
		return m, fmt.Errorf("read manifest: %w", err)
	}
	var signed signedManifest
	if err := json.Unmarshal(raw, &signed); err != nil {
		return m, damaged(err.Error())
	}
	if sum := sha256.Sum256(signed.Manifest); hex.EncodeToString(sum[:]) != signed.SHA256 {
		return m, damaged("its hash is another one than it says")
	}
	if err := json.Unmarshal(signed.Manifest, &m); err != nil {
		return m, damaged(err.Error())
	}
	if m.Version > Version {
		return m, fmt.Errorf("read backup %s: it has version %d: %w; use the Minutebook that wrote it, or newer", place, m.Version, sqlite.ErrNewer)
	}
	if m.Version == FirstVersion {
		m.Lineage = []string{m.Epoch}
	}
	if len(m.Lineage) == 0 {
		return m, damaged("it does not say of which archive it is")
	}
	for _, f := range m.Files {
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			return m, &DamagedError{place.String(), []string{f.Path + ": lies outside the backup"}}
		}
	}
	return m, nil
}
