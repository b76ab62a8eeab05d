package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/export"
	"minutebook/search"
)

// openArchive makes the archive of all meetings, or opens it.
func openArchive(ctx context.Context, d *documents, dir string) (*archive.Archive, error) {
	ar, err := archive.Open(ctx, archive.Options{Dir: filepath.Join(dir, "data"), Create: true, Logger: zerolog.Nop()})
	if err != nil {
		return nil, err
	}
	var batch []archive.Observation
	for number := 1; number <= d.meetings && err == nil; number++ {
		o, _, makeErr := d.source.Observation(number)
		if batch, err = append(batch, o), makeErr; err == nil && (len(batch) == 50 || number == d.meetings) {
			_, err = ar.Apply(ctx, batch)
			batch = nil
		}
	}
	if err != nil {
		return nil, errors.Join(err, ar.Close())
	}
	return ar, nil
}

// openOurs indexes the archive. It also exports the meetings for ripgrep.
func openOurs(ctx context.Context, d *documents, dir string) (e engine, built builtIn, err error) {
	ar, err := openArchive(ctx, d, dir)
	if err != nil {
		return e, built, err
	}
	if _, err := export.Run(ctx, ar, export.Options{Dir: filepath.Join(dir, "exported"), Format: export.Markdown}); err != nil {
		return e, built, errors.Join(err, ar.Close())
	}
	began := time.Now()
	index, err := search.Open(ctx, search.Options{Archive: ar, Logger: zerolog.Nop()})
	if err != nil {
		return e, built, errors.Join(err, ar.Close())
	}
	e = engine{"ours", func(q query) (answer, error) { return askOurs(ctx, index, q) }, func() error { return errors.Join(index.Close(), ar.Close()) }}
	if err := index.CatchUp(ctx); err != nil {
		return e, built, errors.Join(err, e.close())
	}
	built.elapsed = time.Since(began)
	built.size, err = sizeOf(filepath.Join(dir, "data", "index"))
	return e, built, err
}

func askOurs(ctx context.Context, index *search.Index, q query) (answer, error) {
	text := strings.Join(q.Words, " ")
	switch q.Kind {
	case "any":
		text = strings.Join(q.Words, " OR ")
	case "phrase":
		text = fmt.Sprintf("%q", text)
	case "prefix":
		text += "*"
	}
	began := time.Now()
	a, err := index.Search(ctx, search.Request{Query: text, Viewer: archive.Viewer{All: true}})
	if err != nil {
		return answer{}, err
	}
	return answer{time.Since(began), a.Total}, nil
}
