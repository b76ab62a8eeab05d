package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"minutebook/archive/inbox"
	"minutebook/internal/sqlite"
	"minutebook/receiver"
)

// Stores beside which the inbox is measured, behind the same server and verification.
// Each answers when the delivery is on the disk.

// forgetful takes deliveries and keeps none.
type forgetful struct{ *inbox.Inbox }

// Put says that a delivery is new and kept.
func (forgetful) Put(context.Context, inbox.Delivery) (bool, error) { return false, nil }

// appended writes each body to the end of a file and syncs it, one after the other.
type appended struct {
	*inbox.Inbox
	mu sync.Mutex // held while a body is written
	f  *os.File
}

// Put appends the body.
func (p *appended) Put(_ context.Context, d inbox.Delivery) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.f.Write(d.Body)
	return false, errors.Join(err, p.f.Sync())
}

// inserted writes each body as a row of an SQLite table, a transaction each, with the
// archive's settings.
type inserted struct {
	*inbox.Inbox
	db *sqlite.DB
}

// Put inserts the body.
func (p *inserted) Put(ctx context.Context, d inbox.Delivery) (bool, error) {
	_, err := p.db.W.ExecContext(ctx, `INSERT INTO deliveries (account, webhook_id, body) VALUES (?, ?, ?)`, d.Account, d.WebhookID, d.Body)
	return false, err
}

// receivingStore is the store that a mode of the server puts deliveries into.
func receivingStore(ctx context.Context, mode, dir string, in *inbox.Inbox) (receiver.Inbox, error) {
	switch mode {
	case "bound":
		return forgetful{in}, nil
	case "append":
		f, err := os.Create(filepath.Join(dir, "appended"))
		return &appended{Inbox: in, f: f}, err
	case "sqlite":
		db, err := sqlite.Open(ctx, filepath.Join(dir, "inserted.db"))
		if err == nil {
			_, err = db.W.ExecContext(ctx, `CREATE TABLE deliveries (id INTEGER PRIMARY KEY, account TEXT, webhook_id TEXT, body BLOB, UNIQUE (account, webhook_id))`)
		}
		if err != nil {
			return nil, fmt.Errorf("open the bare table: %w", err)
		}
		return &inserted{in, db}, nil
	}
	return in, nil
}
