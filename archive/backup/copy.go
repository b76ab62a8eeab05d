package backup

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/klauspost/compress/zstd"

	"minutebook/archive"
	"minutebook/archive/generation"
	"minutebook/archive/inbox"
	"minutebook/archive/media"
	"minutebook/internal/diskspace"
	"minutebook/internal/durable"
	"minutebook/internal/seal"
	"minutebook/internal/sqlite"
)

// copyFile copies one database as it is at one moment. Writers go on meanwhile.
func (b *run) copyFile(ctx context.Context, path string, m *generation.Manifest) error {
	name, in := filepath.Base(path), b.archive.Dir()
	if dir := generation.LocalDir(b.dir.place); dir != "" && !m.Encrypted { // else the plain copy stays in the data directory
		in = filepath.Join(dir, b.name)
		if err := durable.MkdirAll(in); err != nil {
			return err
		}
	}
	if in == b.archive.Dir() {
		if err := checkRoom(path, in); err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
	}
	// A backup to another place may have a copy beside this one.
	f, err := os.CreateTemp(in, durable.TempPrefix+"backup-"+name+"-*")
	if err != nil {
		return fmt.Errorf("copy %s: %w", name, err)
	}
	defer func() { f.Close(); os.Remove(f.Name()) }()
	if err := vacuumInto(ctx, path, f); err != nil {
		return fmt.Errorf("copy %s: %w", name, err)
	}
	if name == "inbox.db" {
		if err := readDelivered(ctx, f.Name(), m); err != nil {
			return fmt.Errorf("read copy of %s: %w", name, err)
		}
	}
	if name == "archive.db" {
		if err := b.describe(ctx, f.Name(), m); err != nil {
			return fmt.Errorf("read copy of %s: %w", name, err)
		}
		if !b.WithoutMedia {
			b.total += len(b.blobs)
		}
	}
	return b.writeFile(ctx, b.name+"/"+name+generation.PackedSuffix, f)
}

// checkRoom fails where a copy of a database would fill the disk of a directory.
func checkRoom(path, in string) error {
	var need int64
	for _, file := range []string{path, path + "-wal"} {
		info, err := os.Stat(file)
		if err == nil {
			need += info.Size()
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return diskspace.CheckRoom(in, need)
}

// vacuumInto writes a whole, synced copy of a database into an empty file.
func vacuumInto(ctx context.Context, from string, to *os.File) error {
	db := sqlite.Connect(from, "?mode=rw&_busy_timeout=10000&_secure_delete=on", // the setting of the copy too
		map[string]string{"busy_timeout": "10000", "secure_delete": "1"})
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, to.Name()); err != nil { // SQLite takes an empty file
		return err
	}
	return to.Sync()
}

// readDelivered fills the manifest from the copy of inbox.db.
func readDelivered(ctx context.Context, path string, m *generation.Manifest) (err error) {
	db := sqlite.Connect(path, "?mode=ro&immutable=1", nil)
	defer db.Close()
	m.DeliveredIDs, err = inbox.ReadRecordingIDs(ctx, db)
	return err
}

// describe fills the manifest from the copy of archive.db.
func (b *run) describe(ctx context.Context, path string, m *generation.Manifest) error {
	db := sqlite.Connect(path, "?mode=ro&immutable=1", nil)
	defer db.Close()
	err := db.QueryRowContext(ctx, `SELECT (SELECT value FROM info WHERE name = 'epoch'),
		coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'changes'), 0)`).Scan(&m.Epoch, &m.Seq)
	if err != nil {
		return err
	}
	if m.Lineage, err = archive.ReadLineage(ctx, db); err != nil {
		return err
	}
	if m.IDs, err = sqlite.Column[int64](ctx, db, `SELECT recording_id FROM meetings ORDER BY 1`); err != nil {
		return err
	}
	m.Meetings = len(m.IDs)
	if m.GivenUp, err = archive.ReadGivenUp(ctx, db); err != nil {
		return err
	}
	b.blobs, err = sqlite.List(ctx, db, func(rows *sql.Rows, blob *media.Blob) error { return rows.Scan(&blob.SHA256, &blob.Size) },
		`SELECT sha256, size FROM media WHERE sha256 IN (SELECT sha256 FROM attachments) ORDER BY sha256`)
	return err
}

// copyRecordings copies the recordings that no earlier generation has.
func (b *run) copyRecordings(ctx context.Context) error {
	for _, blob := range b.blobs {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := "media/" + blob.SHA256[:2] + "/" + blob.SHA256
		if f, ok := b.written[path+b.sealedSuffix()]; ok {
			b.addFresh(f)
			continue
		}
		f, known := b.earlier[path+b.sealedSuffix()]
		noted, copied := b.copied[path+b.sealedSuffix()]
		intact, err := known, error(nil)
		if known && (!copied || noted == f) {
			intact, err = b.isIntact(ctx, f)
		} else if f, intact, err = b.takeUp(ctx, blob, path+b.sealedSuffix()); intact {
			b.earlier[f.Path] = f // read back for the next tries too
		}
		if err == nil && known && !intact {
			err = b.noteReplacing(ctx, path+b.sealedSuffix())
		}
		if err != nil {
			return err
		}
		if intact {
			b.addFile(f)
			b.result.Kept++
			continue
		}
		before := b.result.Copied
		if err := b.copyRecording(ctx, blob, path); err != nil {
			return fmt.Errorf("copy recording %s: %w", blob.SHA256, err)
		}
		if known {
			b.result.Replaced += b.result.Copied - before
		}
	}
	return nil
}

// copyRecording copies a recording. A recording that the archive itself no longer
// has whole is named as lost, and the backup goes on.
func (b *run) copyRecording(ctx context.Context, blob media.Blob, path string) error {
	r, _, err := b.archive.Media().Open(ctx, blob.SHA256)
	if errors.Is(err, archive.ErrNotFound) {
		return b.recordLost(ctx, blob, "its file is missing")
	}
	if err != nil && ctx.Err() == nil && !media.IsUnavailable(err) {
		return b.recordLost(ctx, blob, "it cannot be opened: "+err.Error())
	}
	if err != nil {
		return err
	}
	defer r.Close()
	from := &sourceReader{Reader: r}
	if _, found := b.dir.recordings[path+b.sealedSuffix()]; found { // a damaged copy is better than another damaged one
		d := seal.NewDigest()
		if _, err = seal.Copy(ctx, d, from); err == nil && d.SHA256() != blob.SHA256 {
			return b.recordLost(ctx, blob, "its bytes have the hash "+d.SHA256())
		}
		if err == nil {
			_, err = r.Seek(0, io.SeekStart)
		}
	}
	if err == nil {
		err = b.writeFile(ctx, path, from)
	}
	if errors.Is(from.err, syscall.EIO) || errors.Is(from.err, syscall.EISDIR) {
		return b.recordLost(ctx, blob, "it cannot be read: "+from.err.Error())
	}
	if err != nil {
		return err
	}
	f := b.files[len(b.files)-1]
	if f.PlainSHA256 != blob.SHA256 {
		b.files, b.fresh = b.files[:len(b.files)-1], b.fresh[:len(b.fresh)-1]
		b.result.Copied--
		b.result.Bytes -= f.Size
		if err := b.dir.place.Remove(ctx, f.Path); err != nil {
			return err
		}
		return b.recordLost(ctx, blob, "its bytes have the hash "+f.PlainSHA256)
	}
	b.written[f.Path], b.copied[f.Path] = f, f
	if b.unnoted += f.Size; b.unnoted < noteEvery {
		return nil
	}
	return b.noteCopied(ctx)
}

// sourceReader keeps the error with which reading ended, which differs from an error
// of writing.
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

// recordLost names a recording that cannot be backed up, with its meetings. A
// recording without meetings was deleted meanwhile, by a forget, a rule or a repair, and
// the generation is made again: the copy of archive.db still has it.
func (b *run) recordLost(ctx context.Context, blob media.Blob, reason string) error {
	ids, err := b.archive.MeetingsWith(ctx, blob.SHA256)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		b.outdated = true
		return nil
	}
	b.result.Lost = append(b.result.Lost, generation.Lost{SHA256: blob.SHA256, Meetings: ids, Reason: reason})
	return nil
}

// sealedSuffix returns the end of the names of encrypted files, "" without
// encryption. It differs by recipients: these cannot read a recording that an earlier
// generation has for others.
func (b *run) sealedSuffix() string {
	if len(b.Recipients) == 0 {
		return ""
	}
	var keys []string
	for _, r := range b.Recipients {
		keys = append(keys, fmt.Sprint(r))
	}
	slices.Sort(keys)
	sum := sha256.Sum256([]byte(strings.Join(keys, " ")))
	return "." + hex.EncodeToString(sum[:4]) + ".age"
}

// writeFile writes a file of the backup, compressed where its name says so, and
// encrypted where that is asked for.
func (b *run) writeFile(ctx context.Context, path string, r io.Reader) error {
	stored, plaintext := seal.NewDigest(), seal.NewDigest()
	to := path + b.sealedSuffix()
	err := b.dir.place.Write(ctx, to, func(w io.Writer) error {
		closers := []io.Closer{}
		out := io.MultiWriter(w, stored)
		sealed, err := seal.Writer(out, b.Recipients)
		if err != nil {
			return err
		}
		out, closers = sealed, append(closers, sealed)
		if strings.HasSuffix(path, generation.PackedSuffix) {
			packed, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1))
			if err != nil {
				return fmt.Errorf("compress: %w", err)
			}
			out, closers = packed, append(closers, packed)
		}
		_, err = seal.Copy(ctx, io.MultiWriter(out, plaintext), r)
		for _, c := range slices.Backward(closers) {
			err = errors.Join(err, c.Close())
		}
		return err
	})
	if err != nil {
		return err
	}
	f := generation.File{Path: to, Size: stored.Size(), SHA256: stored.SHA256(), PlainSize: plaintext.Size(), PlainSHA256: plaintext.SHA256()}
	b.addFresh(f)
	return nil
}

// addFresh enters a file that this run wrote.
func (b *run) addFresh(f generation.File) {
	b.result.Copied++
	b.result.Bytes += f.Size
	b.fresh = append(b.fresh, f)
	b.addFile(f)
}

// addFile enters a file of the generation and reports the progress.
func (b *run) addFile(f generation.File) {
	b.files = append(b.files, f)
	if b.Progress != nil {
		b.Progress(len(b.files), max(b.total, len(b.files)))
	}
}
