// Search measures building, size and speed of the search index on meetings
// resampled from the corpus, beside FTS5 with a row for every utterance in the
// same run:
//
//	go run ./bench/search [-meetings N] [-data DIR] [-queries N] [-fts=false]
//
// With -data the archive and the index stay for further runs. Times are in
// milliseconds, of searches asked one after the other.
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/bench/corpus"
	"minutebook/search"
)

type options struct {
	meetings, queries int
	data              string
	fts               bool
}

func main() {
	var o options
	flag.IntVar(&o.meetings, "meetings", 10_000, "how many meetings")
	flag.IntVar(&o.queries, "queries", 200, "how many queries of each class")
	flag.StringVar(&o.data, "data", "", "keep the archive and its index here")
	flag.BoolVar(&o.fts, "fts", true, "measure FTS5 too")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, o options) error {
	dir, err := corpus.Dir()
	if err != nil {
		return err
	}
	r, err := corpus.NewResampler(dir, 1)
	if err != nil {
		return err
	}
	if o.data == "" {
		if o.data, err = os.MkdirTemp("", "search"); err != nil {
			return err
		}
		defer os.RemoveAll(o.data)
	}
	a, err := archive.Open(ctx, archive.Options{Dir: o.data, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	defer a.Close()
	text, err := fill(ctx, a, r, o.meetings)
	if err != nil {
		return err
	}
	begin := time.Now()
	x, err := search.Open(ctx, search.Options{Archive: a, Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	defer x.Close()
	opened := time.Since(begin)
	if err := x.CatchUp(ctx); err != nil {
		return err
	}
	caught := time.Since(begin)
	size := sizeOf(filepath.Join(o.data, "index"))
	fmt.Printf("%d meetings, %.0f MB of text; index opened in %v, caught up after %v (%.1f MB/s), %.2f of the text\n", o.meetings, float64(text)/1e6,
		opened.Round(time.Millisecond), caught.Round(time.Millisecond), float64(text)/1e6/caught.Seconds(), float64(size)/float64(text))
	return measure(ctx, a, x, r, o)
}

// fill adds what is missing of the meetings and returns the bytes of all text.
func fill(ctx context.Context, a *archive.Archive, r *corpus.Resampler, n int) (text int, err error) {
	c, err := a.Counts(ctx)
	if err != nil {
		return 0, err
	}
	var batch []archive.Observation
	for number := 1; number <= n; number++ {
		o, bytes, err := r.Observation(number)
		if err != nil {
			return 0, err
		}
		text += bytes
		if number <= c.Meetings {
			continue
		}
		if batch = append(batch, o); len(batch) < 50 && number < n {
			continue
		}
		if _, err := a.Apply(ctx, batch); err != nil {
			return 0, err
		}
		batch = nil
	}
	return text, nil
}

func sizeOf(dir string) (size int64) {
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	return size
}
