// Relevance measures the quality of ranking on the corpus's questions, in
// plain English, beside FTS5 in the same run:
//
//	go run ./bench/relevance [-data DIR]
//
// A question's meeting counts as first, or among five, by its place among the
// meetings found. Its moment counts as found among five when one of the first
// five moments, each the best of its meeting, stands where the question is
// answered: the piece overlaps the stretch (FTS5's), or the entry shown is in
// it or within half a minute (ours, whose moments are a minute long). Of the
// questions, those of every second meeting were used to set the ranking; the
// others were kept aside, and both are reported.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/bench/corpus"
	"minutebook/search"
)

// place is a stretch of a recording, in seconds.
type place struct {
	meeting  int64
	from, to float64
}

func main() {
	data := flag.String("data", "", "keep the archive here, for further runs")
	flag.Parse()
	if err := run(context.Background(), *data); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, data string) error {
	dir, err := corpus.Dir()
	if err != nil {
		return err
	}
	questions, err := corpus.Questions(dir)
	if err != nil {
		return err
	}
	if data == "" {
		if data, err = os.MkdirTemp("", "relevance"); err != nil {
			return err
		}
		defer os.RemoveAll(data)
	}
	a, err := archive.Open(ctx, archive.Options{Dir: data, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	defer a.Close()
	if c, err := a.Counts(ctx); err != nil {
		return err
	} else if c.Meetings == 0 {
		if err := corpus.Load(ctx, a, dir); err != nil {
			return err
		}
	}
	x, err := search.Open(ctx, search.Options{Archive: a, Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	defer x.Close()
	if err := x.CatchUp(ctx); err != nil {
		return err
	}
	return compare(ctx, a, x, questions)
}

func compare(ctx context.Context, a *archive.Archive, x *search.Index, questions []corpus.Question) error {
	fts, err := newBaseline(ctx, a)
	if err != nil {
		return err
	}
	var baseline, ours [2]tally
	for _, q := range questions {
		half := q.RecordingID / 7 % 2
		places, err := fts.ask(q.Query)
		if err != nil {
			return err
		}
		baseline[half].add(q, places)
		if places, err = ask(ctx, x, q.Query); err != nil {
			return err
		}
		ours[half].add(q, places)
	}
	fmt.Printf("%-34s %9s %9s %9s %9s\n", "", "questions", "first", "of five", "moment")
	for _, line := range []struct {
		name string
		t    tally
	}{
		{"FTS5, 60 s pieces", baseline[0].plus(baseline[1])}, {"Minutebook", ours[0].plus(ours[1])},
		{"Minutebook, used for setting", ours[0]}, {"Minutebook, kept aside", ours[1]},
	} {
		fmt.Printf("%-34s %s\n", line.name, line.t)
	}
	return nil
}

// ask returns the best moment of each of the meetings found.
func ask(ctx context.Context, x *search.Index, query string) ([]place, error) {
	answer, err := x.Search(ctx, search.Request{Query: query, Viewer: archive.Viewer{All: true}, Limit: 5, Moments: 2})
	if err != nil {
		return nil, err
	}
	var out []place
	for _, m := range answer.Meetings {
		p := place{meeting: m.Row.RecordingID, from: -1, to: -1}
		for _, moment := range m.Moments {
			if moment.Part == api.PartTranscript {
				at := moment.Offset
				p.from, p.to = (at - 30*time.Second).Seconds(), (at + 30*time.Second).Seconds()
				break
			}
		}
		out = append(out, p)
	}
	return out, nil
}
