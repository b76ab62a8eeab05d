package main

import (
	"context"

	"minutebook/archive/notes"
)

// Notes returns what people have added to the archive.
func (app *application) Notes(ctx context.Context) (*notes.DB, error) {
	app.mu.Lock()
	defer app.mu.Unlock()
	if app.notes != nil {
		return app.notes, nil
	}
	db, err := notes.Open(ctx, notes.Options{Archive: app.archive})
	if err != nil {
		return nil, err
	}
	app.notes = db
	return db, nil
}
