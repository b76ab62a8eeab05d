package archive

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"minutebook/internal/durable"
	"minutebook/internal/sqlite"
)

// database copies one database as it is at one moment. Writers go on meanwhile;
// readers see the moment at which the copy began.
func (b *backup) database(ctx context.Context, path string, m *Manifest) error {
	name := filepath.Base(path)
	temp := filepath.Join(b.dest, b.dir, durable.TempPrefix+name)
	if m.Encrypted { // what is not encrypted yet stays where it came from
		temp = filepath.Join(b.archive.dir, durable.TempPrefix+"backup-"+name)
	}
	if err := durable.Remove(temp); err != nil {
		return fmt.Errorf("copy %s: %w", name, err)
	}
	defer os.Remove(temp)
	if err := copyDatabase(ctx, path, temp); err != nil {
		return fmt.Errorf("copy %s: %w", name, err)
	}
	if path == b.archive.db.Path {
		if err := m.describe(ctx, temp); err != nil {
			return fmt.Errorf("read copy of %s: %w", name, err)
		}
		if !b.WithoutMedia {
			b.total += len(m.blobs)
		}
	}
	f, err := os.Open(temp)
	if err != nil {
		return fmt.Errorf("copy %s: %w", name, err)
	}
	defer f.Close()
	return b.put(ctx, b.dir+"/"+name+packedSuffix, f)
}

// copyDatabase makes a whole, synced copy of a database, 0600.
func copyDatabase(ctx context.Context, from, to string) error {
	db := sqlite.Connect(from, "?mode=rw&_busy_timeout=10000", map[string]string{"busy_timeout": "10000"})
	defer db.Close()
	db.SetMaxOpenConns(1)
	// SQLite takes an empty file, and makes one that others can read.
	if err := os.WriteFile(to, nil, 0o600); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, to); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// describe notes of the archive's copy what the manifest says about it.
func (m *Manifest) describe(ctx context.Context, path string) error {
	db := sqlite.Connect(path, "?mode=ro&immutable=1", nil)
	defer db.Close()
	err := db.QueryRowContext(ctx, `SELECT (SELECT value FROM info WHERE name = 'epoch'),
		coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'changes'), 0)`).Scan(&m.Epoch, &m.Seq)
	if err != nil {
		return err
	}
	if m.Lineage, err = lineage(ctx, db); err != nil {
		return err
	}
	rows, err := db.QueryContext(ctx, `SELECT recording_id FROM meetings ORDER BY 1`)
	if err != nil {
		return err
	}
	if m.IDs, err = scanIDs(rows); err != nil {
		return err
	}
	m.Meetings = len(m.IDs)
	if rows, err = db.QueryContext(ctx, `SELECT sha256, size FROM media WHERE sha256 IN (SELECT sha256 FROM attachments) ORDER BY sha256`); err != nil {
		return err
	}
	m.blobs = nil
	return sqlite.EachRow(rows, func(rows *sql.Rows) error {
		var blob Blob
		err := rows.Scan(&blob.SHA256, &blob.Size)
		m.blobs = append(m.blobs, blob)
		return err
	})
}

// media copies the recordings that are not there from an earlier backup.
func (b *backup) media(ctx context.Context, blobs []Blob) error {
	for _, blob := range blobs {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := "media/" + blob.SHA256[:2] + "/" + blob.SHA256
		if f, ok := b.earlier[path+b.sealedSuffix()]; ok && b.isThere(f) {
			b.add(f)
			b.result.Kept++
			continue
		}
		if err := b.blob(ctx, blob, path); err != nil {
			return fmt.Errorf("copy recording %s: %w", blob.SHA256, err)
		}
	}
	return nil
}

// blob copies a recording. One that the archive itself no longer has whole is
// named as lost: the backup of everything else matters the more.
func (b *backup) blob(ctx context.Context, blob Blob, path string) error {
	r, _, err := b.archive.media.Open(ctx, blob.SHA256)
	if errors.Is(err, ErrNotFound) {
		return b.lose(ctx, blob, "its file is missing")
	}
	if err != nil {
		return err
	}
	defer r.Close()
	if err := durable.MkdirAll(filepath.Join(b.dest, filepath.Dir(filepath.FromSlash(path)))); err != nil {
		return err
	}
	from := &sourceReader{Reader: r}
	err = b.put(ctx, path, from)
	if errors.Is(from.err, syscall.EIO) {
		return b.lose(ctx, blob, "it cannot be read: "+from.err.Error())
	}
	if err != nil {
		return err
	}
	if f := b.files[len(b.files)-1]; f.PlainSHA256 != blob.SHA256 {
		b.files, b.fresh = b.files[:len(b.files)-1], b.fresh[:len(b.fresh)-1]
		b.result.Copied--
		b.result.Bytes -= f.Size
		if err := durable.Remove(filepath.Join(b.dest, filepath.FromSlash(f.Path))); err != nil {
			return err
		}
		return b.lose(ctx, blob, "its bytes have the hash "+f.PlainSHA256)
	}
	return nil
}

// sourceReader keeps the error with which reading ended, to be told from one of
// writing.
type sourceReader struct {
	io.Reader
	err error
}

// Read is part of io.Reader.
func (r *sourceReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.err = err
	return n, err
}

// lose names a recording that cannot be backed up, with the meetings that have
// it. Without any it was forgotten meanwhile, and the generation is made again.
func (b *backup) lose(ctx context.Context, blob Blob, what string) error {
	rows, err := b.archive.db.R.QueryContext(ctx, `SELECT DISTINCT recording_id FROM attachments WHERE sha256 = ?`, blob.SHA256)
	if err != nil {
		return err
	}
	ids, err := scanIDs(rows)
	if err != nil || len(ids) == 0 {
		return err
	}
	l := LostRecording{SHA256: blob.SHA256, What: what}
	for _, id := range ids {
		l.Meetings = append(l.Meetings, b.archive.nameOf(ctx, id))
	}
	b.result.Lost = append(b.result.Lost, l)
	return nil
}

// isThere tells whether a file of an earlier backup is still whole by its size.
// Its content is checked when it is restored.
func (b *backup) isThere(f ManifestFile) bool {
	info, err := os.Stat(filepath.Join(b.dest, filepath.FromSlash(f.Path)))
	return err == nil && info.Mode().IsRegular() && info.Size() == f.Size
}

// packedSuffix ends the name of a compressed file of a backup, and ageSuffix, after
// that, of an encrypted one.
const (
	packedSuffix = ".zst"
	ageSuffix    = ".age"
)

// sealedSuffix is "" without encryption. It tells recipients apart: a recording
// that an earlier generation has for others is no use to these.
func (b *backup) sealedSuffix() string {
	if len(b.Recipients) == 0 {
		return ""
	}
	var keys []string
	for _, r := range b.Recipients {
		keys = append(keys, fmt.Sprint(r))
	}
	slices.Sort(keys)
	sum := sha256.Sum256([]byte(strings.Join(keys, " ")))
	return "." + hex.EncodeToString(sum[:4]) + ageSuffix
}

// put writes a file of the backup, compressed where its name says so, and
// encrypted where that is asked for.
func (b *backup) put(ctx context.Context, path string, r io.Reader) error {
	stored, plain := &counter{Hash: sha256.New()}, &counter{Hash: sha256.New()}
	to := path + b.sealedSuffix()
	err := durable.Write(filepath.Join(b.dest, filepath.FromSlash(to)), func(w io.Writer) error {
		closers := []io.Closer{}
		out := io.MultiWriter(w, stored)
		if len(b.Recipients) > 0 {
			sealed, err := age.Encrypt(out, b.Recipients...)
			if err != nil {
				return fmt.Errorf("encrypt: %w", err)
			}
			out, closers = sealed, append(closers, sealed)
		}
		if strings.HasSuffix(path, packedSuffix) {
			packed, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1))
			if err != nil {
				return fmt.Errorf("compress: %w", err)
			}
			out, closers = packed, append(closers, packed)
		}
		_, err := io.Copy(io.MultiWriter(out, plain), contextReader{ctx, r})
		for _, c := range slices.Backward(closers) {
			err = errors.Join(err, c.Close())
		}
		return err
	})
	if err != nil {
		return err
	}
	f := ManifestFile{to, stored.n, stored.sum(), plain.n, plain.sum()}
	b.result.Copied++
	b.result.Bytes += f.Size
	b.fresh = append(b.fresh, f)
	b.add(f)
	return nil
}

func (b *backup) add(f ManifestFile) {
	b.files = append(b.files, f)
	if b.Progress != nil {
		b.Progress(len(b.files), max(b.total, len(b.files)))
	}
}

func hexSum(b []byte) string { return hex.EncodeToString(b) }
