package export

import (
	"fmt"
	"path/filepath"
)

// file is a file that an export wrote.
type file struct {
	What   string // recording_id, person:KEY or file:NAME
	Format Format
	Name   string // below the directory, with slashes
	SHA256 string // before encryption
	Size   int64  // in bytes, as stored
	Sealed bool
	// Recipients tells for whom it is encrypted; see recipientsID.
	Recipients string `json:",omitempty"`

	open   bool // never sealed
	synced bool // synced to the disk before it is renamed
}

// findFile returns the file that was written for a meeting, a person or a page; nil
// when none was, or when its name leads out of the directory.
func (l *ledger) findFile(what string, format Format) (*file, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := &file{What: what, Format: format}
	found, err := l.Scan(`SELECT name, sha256, size, sealed, recipients FROM files WHERE what = ? AND format = ?`, []any{what, format},
		&f.Name, &f.SHA256, &f.Size, &f.Sealed, &f.Recipients)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ledgerName, err)
	}
	if !found || !filepath.IsLocal(filepath.FromSlash(f.Name)) {
		return nil, nil
	}
	return f, nil
}

// record adds a file that is on the disk to the ledger.
func (l *ledger) record(f *file) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.Exec(`INSERT OR REPLACE INTO files (what, format, name, sha256, size, sealed, recipients) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		f.What, f.Format, f.Name, f.SHA256, f.Size, f.Sealed, f.Recipients)
	return l.afterWrite(err)
}

// erase removes a file that is no longer on the disk from the ledger.
func (l *ledger) erase(what string, format Format) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.Exec(`DELETE FROM files WHERE what = ? AND format = ?`, what, format)
	return l.afterWrite(err)
}
