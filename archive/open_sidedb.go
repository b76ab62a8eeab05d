package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"minutebook/archive/inbox"
	"minutebook/internal/sqlite"
)

// SideDB opens, creating it when missing, another database of the data
// directory, such as service.db, and brings it to the newest of the given
// migrations (*.sql at the root of the file system). It is closed with the
// archive and is part of backup, verify and forget. Opening a name twice fails.
func (a *Archive) SideDB(ctx context.Context, name string, migrations fs.FS) (*sqlite.DB, error) {
	if name != filepath.Base(name) || filepath.Ext(name) != ".db" {
		return nil, fmt.Errorf("open side database: %q is not a plain *.db name", name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, ErrClosed
	}
	path := filepath.Join(a.dir, name)
	if path == a.db.Path {
		return nil, fmt.Errorf("open side database: %s is the archive itself", name)
	}
	for _, db := range a.side {
		if db.Path == path {
			return nil, fmt.Errorf("open side database: %s is open already", name)
		}
	}
	if err := a.refuseLostDB(ctx, name); err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, markDamaged(err)
	}
	if err := db.Migrate(ctx, migrations); err != nil {
		return nil, markDamaged(errors.Join(err, db.Close()))
	}
	if err := a.noteCreated(ctx, name); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	a.side = append(a.side, db)
	return db, nil
}

// openInbox opens the inbox of an archive; Close ends its writer.
func (a *Archive) openInbox(ctx context.Context) error {
	const name = "inbox.db"
	if err := a.refuseLostDB(ctx, name); err != nil {
		return err
	}
	i, err := inbox.Open(ctx, filepath.Join(a.dir, name), inbox.Options{Create: true, Logger: a.log, Now: a.now, IsForgotten: a.isForgotten})
	if err != nil {
		return err
	}
	a.inbox = i
	a.mu.Lock()
	a.side = append(a.side, i.DB())
	a.mu.Unlock()
	return a.noteCreated(ctx, name)
}

// Inbox is where deliveries wait until they are applied.
func (a *Archive) Inbox() *inbox.Inbox { return a.inbox }
