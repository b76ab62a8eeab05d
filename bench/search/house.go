package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/bench/corpus"
	"minutebook/search"
)

// half is a person who sees every second meeting: those shared with all.
var half = archive.ViewerWith("reader@company0.example")

// house is the archive of a measurement and its index.
type house struct {
	options
	meetings *corpus.Resampler
	archive  *archive.Archive
	index    *search.Index
	classes  []class
	text     int // bytes of all transcripts
}

func newHouse(ctx context.Context, o options) (*house, error) {
	dir, err := corpus.Dir()
	if err != nil {
		return nil, err
	}
	h := &house{options: o}
	if h.meetings, err = corpus.NewResampler(dir, 1); err != nil {
		return nil, err
	}
	if h.archive, err = archive.Open(ctx, archive.Options{Dir: o.data, Create: true, Logger: zerolog.Nop()}); err != nil {
		return nil, err
	}
	if h.text, err = h.fill(ctx); err != nil {
		return nil, err
	}
	h.classes = classes(h.meetings, o)
	return h, h.archive.PutUsers(ctx, "corpus", []api.User{{Name: api.Some("Reader"), Email: half.Emails[0], Status: api.StatusActive}})
}

// logger logs warnings and errors only.
func logger() zerolog.Logger { return zerolog.New(os.Stderr).Level(zerolog.WarnLevel) }

func (h *house) close() {
	if h.index != nil {
		h.index.Close()
	}
	h.archive.Close()
}

// fill adds the meetings that are missing and returns the bytes of all text.
// It keeps that figure, since counting takes as long as making the meetings.
func (h *house) fill(ctx context.Context) (text int, err error) {
	kept := filepath.Join(h.data, "text.json")
	sizes := map[int]int{}
	if raw, err := os.ReadFile(kept); err == nil {
		if err := json.Unmarshal(raw, &sizes); err != nil {
			return 0, err
		}
	}
	size, err := h.archive.Size(ctx)
	if err != nil {
		return 0, err
	}
	if text, ok := sizes[h.options.meetings]; ok && size >= h.options.meetings {
		return text, nil
	}
	var batch []archive.Observation
	for number := 1; number <= h.options.meetings; number++ {
		o, bytes, err := h.meetings.Observation(number)
		if err != nil {
			return 0, err
		}
		text += bytes
		if number > size {
			batch = append(batch, o)
		}
		if len(batch) < 50 && number < h.options.meetings {
			continue
		}
		if _, err := h.archive.Apply(ctx, batch); err != nil {
			return 0, err
		}
		batch = nil
	}
	sizes[h.options.meetings] = text
	raw, err := json.Marshal(sizes)
	if err != nil {
		return 0, err
	}
	return text, os.WriteFile(kept, raw, 0o600)
}

// build opens the index and brings it up to the archive, or makes it anew, and
// tells how long that took, how large it is, and, where one answered meanwhile,
// how fast that was.
func (h *house) build(ctx context.Context) (err error) {
	begin := time.Now()
	if h.index, err = search.Open(ctx, search.Options{Archive: h.archive, Logger: logger()}); err != nil {
		return err
	}
	opened := time.Since(begin)
	if h.rebuild {
		h.index.Rebuild()
	}
	stop, err := profile(h.options.profile, "build")
	if err != nil {
		return err
	}
	used := sampleMemory()
	var done atomic.Bool
	done.Store(h.only != "") // nothing is asked meanwhile where that is not measured
	asked := make(chan answered, 1)
	go func() { asked <- h.askUntil(ctx, &done) }()
	err = h.index.CatchUp(ctx)
	elapsed := time.Since(begin)
	done.Store(true)
	stop()
	during := <-asked
	most := used.end()
	if err = errors.Join(err, during.err); err != nil {
		return err
	}
	mb := float64(h.text) / 1e6
	fmt.Printf("%d meetings, %.0f MB of text; opened in %v, caught up after %v (%.1f MB/s)\n", h.options.meetings, mb,
		opened.Round(time.Millisecond), elapsed.Round(time.Millisecond), mb/elapsed.Seconds())
	fmt.Printf("meanwhile %d searches: p50 %.1f, p99 %.1f; the process took at most %s\n", len(during.times), at(during.times, 0.5), at(during.times, 0.99), most)
	h.sizes()
	begin = time.Now()
	if err := h.index.Check(ctx); err != nil {
		return err
	}
	fmt.Printf("checked in %v\n", time.Since(begin).Round(time.Millisecond))
	return nil
}

// sizes prints how large the indexes are, once merging has come to rest.
func (h *house) sizes() {
	index := filepath.Join(h.data, "index")
	before, _ := sizeOf(index)
	for calm := 0; calm < 5; {
		time.Sleep(time.Second)
		size, _ := sizeOf(index)
		if calm++; size != before {
			before, calm = size, 0
		}
	}
	for _, part := range []string{"meetings", "moments"} {
		dirs, _ := filepath.Glob(filepath.Join(index, "*", part))
		for _, dir := range dirs {
			size, n := sizeOf(dir)
			fmt.Printf("%s: %.0f MB in %d files, %.2f of the text\n", part, float64(size)/1e6, n, float64(size)/float64(h.text))
		}
	}
	fmt.Printf("index: %.2f of the text\n", float64(before)/float64(h.text))
}

func sizeOf(dir string) (size int64, files int) {
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				size += info.Size()
				files++
			}
		}
		return nil
	})
	return size, files
}
