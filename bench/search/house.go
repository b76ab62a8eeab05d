package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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
	archive *archive.Archive
	index   *search.Index
	ids     []int64        // of all meetings
	sample  []*api.Meeting // of which queries take their words
	classes []class
	text    int // bytes of all transcripts, judged by the sample's
}

func newHouse(ctx context.Context, o options) (*house, error) {
	h := &house{options: o}
	var err error
	if h.archive, err = archive.Open(ctx, archive.Options{Dir: o.data, Create: true, Logger: zerolog.Nop()}); err != nil {
		return nil, err
	}
	if err = h.fill(ctx); err != nil {
		return nil, err
	}
	err = h.archive.Lengths(ctx, nil, func(id int64, _ time.Duration) { h.ids = append(h.ids, id) })
	if err != nil {
		return nil, err
	}
	slices.Sort(h.ids)
	if err = h.drawSample(ctx); err != nil {
		return nil, err
	}
	h.classes = h.newClasses()
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

// newResampler returns the source of new meetings.
func newResampler() (*corpus.Resampler, error) {
	dir, err := corpus.Dir()
	if err != nil {
		return nil, err
	}
	return corpus.NewResampler(dir, 1)
}

// fill adds the meetings that are missing. An archive that has enough of them is left as
// it is.
func (h *house) fill(ctx context.Context) error {
	size, err := h.archive.Size(ctx)
	if err != nil {
		return err
	}
	want := h.options.meetings
	if want == 0 && size == 0 {
		want = newArchive
	}
	return corpus.Fill(ctx, h.archive, want)
}

// sampleSize is how many meetings the words of the queries are taken from.
const sampleSize = 400

// drawSample reads meetings for the words of queries, always the same ones.
func (h *house) drawSample(ctx context.Context) error {
	rnd := rand.New(rand.NewPCG(5, 5))
	bytes, read := 0, 0
	for _, at := range rnd.Perm(len(h.ids))[:min(sampleSize, len(h.ids))] {
		m, err := h.archive.Meeting(ctx, everyone, h.ids[at])
		if err != nil {
			return err
		}
		read++
		for _, e := range m.Transcript.Or(nil) {
			bytes += len(e.Text)
		}
		if slices.ContainsFunc(m.Transcript.Or(nil), func(e api.TranscriptEntry) bool { return len(wordsOf(e.Text)) >= fewestWords }) {
			h.sample = append(h.sample, m)
		}
	}
	if len(h.sample) == 0 {
		return errors.New("no meeting of the archive has words to ask for")
	}
	h.text = bytes / read * len(h.ids)
	return nil
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
	fmt.Printf("%d meetings, about %.0f MB of text; opened in %v, caught up after %v (%.1f MB/s)\n", len(h.ids), mb,
		opened.Round(time.Millisecond), elapsed.Round(time.Millisecond), mb/elapsed.Seconds())
	if h.only != "" {
		return nil
	}
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
		dirs, _ := fs.Glob(os.DirFS(index), "*/"+part)
		for _, dir := range dirs {
			size, n := sizeOf(filepath.Join(index, dir))
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
