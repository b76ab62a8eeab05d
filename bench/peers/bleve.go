package main

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/blevesearch/bleve/v2"
	bquery "github.com/blevesearch/bleve/v2/search/query"
)

// openBleve indexes the meetings with Bleve as it is by default.
func openBleve(_ context.Context, d *documents, dir string) (e engine, built builtIn, err error) {
	path := filepath.Join(dir, "bleve")
	index, err := bleve.New(path, bleve.NewIndexMapping())
	if err != nil {
		return e, built, err
	}
	e = engine{"Bleve", func(q query) (answer, error) { return askBleve(index, q) }, index.Close}
	began, batch := time.Now(), index.NewBatch()
	err = d.each(func(number int, text string) error {
		err := batch.Index(strconv.Itoa(number), map[string]string{"text": text})
		if err == nil && (batch.Size() == 100 || number == d.meetings) {
			err, batch = index.Batch(batch), index.NewBatch()
		}
		return err
	})
	if err != nil {
		return e, built, errors.Join(err, index.Close())
	}
	built.elapsed = time.Since(began)
	built.size, err = sizeOf(path)
	return e, built, err
}

func askBleve(index bleve.Index, q query) (answer, error) {
	var parts []bquery.Query
	for _, w := range q.Words {
		part := bleve.NewMatchQuery(w)
		part.SetOperator(bquery.MatchQueryOperatorAnd) // a rare word has two parts
		parts = append(parts, part)
	}
	var whole bquery.Query = bleve.NewConjunctionQuery(parts...)
	switch q.Kind {
	case "any":
		whole = bleve.NewDisjunctionQuery(parts...)
	case "phrase":
		whole = bleve.NewMatchPhraseQuery(strings.Join(q.Words, " "))
	case "prefix":
		whole = bleve.NewPrefixQuery(q.Words[0])
	}
	began := time.Now()
	result, err := index.Search(bleve.NewSearchRequest(whole))
	if err != nil {
		return answer{}, err
	}
	return answer{time.Since(began), int(result.Total)}, nil
}
