package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"time"

	"minutebook/internal/rawjson"
)

// Page is one answer of a list (specification 2.1).
type Page[T any] struct {
	Limit              Opt[int]
	NextCursor         string // "" on the last page
	Items              []T
	SentAt, AnsweredAt time.Time // SentAt dates an observation
	Order              int64     // see WithOrder
	Date               time.Time // of the answer, by the service's clock; zero: unknown
}

// readPage decodes a page by hand, since null, absent and mistyped members differ
// here: a missing list must never count as an empty one.
func readPage(cl *call, a *answer) (*Page[json.RawMessage], error) {
	p := &Page[json.RawMessage]{SentAt: a.sentAt, AnsweredAt: a.answeredAt, Order: a.order, Date: a.date}
	found := false
	malformed := func(finding string) error {
		return &brokenError{method: cl.method, path: cl.path, cause: fmt.Errorf("%w: %s", errUnusable, finding)}
	}
	if len(bytes.TrimSpace(a.body)) == 0 {
		return nil, malformed("the body is empty")
	}
	members, err := rawjson.Members(a.body)
	if err != nil {
		return nil, malformed(err.Error())
	}
	for _, m := range members {
		switch m.Key {
		case "limit":
			_ = p.Limit.UnmarshalJSON(m.Value)
		case "next_cursor":
			p.NextCursor = textIn(m.Value)
		case "items":
			if m.Value[0] == '[' {
				found = true
				p.Items = p.Items[:0]
				for item := range rawjson.Elements(m.Value) {
					if p.Items = append(p.Items, item); len(p.Items) > maxItems {
						return nil, malformed(fmt.Sprintf("a page has more than %d items", maxItems))
					}
				}
			}
		}
	}
	if !found {
		return nil, malformed("the list has no items")
	}
	if p.NextCursor != "" && p.NextCursor == cl.query.Get("cursor") {
		return nil, fmt.Errorf("%s %s: %w", cl.method, cl.path, ErrCursorLoop)
	}
	return p, nil
}

// textIn reads an opaque text that should be a string. It returns a number as
// written, and "" for anything else.
func textIn(value []byte) string {
	switch value[0] {
	case '"':
		return rawjson.Text(value)
	case 'n', 't', 'f', '{', '[':
		return ""
	}
	return string(value)
}

// readList reads one page of raw items.
func (c *Client) readList(ctx context.Context, cl *call, cursor string) (*Page[json.RawMessage], error) {
	if cursor != "" {
		if cl.query == nil {
			cl.query = url.Values{}
		}
		cl.query.Set("cursor", cursor)
	}
	a, err := c.do(ctx, cl)
	if err != nil {
		return nil, err
	}
	return readPage(cl, a)
}

// readTyped reads one page of a directory. An item that is no object becomes a zero
// item, so that its reader knows that there was one.
func readTyped[T any](ctx context.Context, c *Client, cl *call, cursor string) (*Page[T], error) {
	raw, err := c.readList(ctx, cl, cursor)
	if err != nil {
		return nil, err
	}
	p := &Page[T]{Limit: raw.Limit, NextCursor: raw.NextCursor, SentAt: raw.SentAt, AnsweredAt: raw.AnsweredAt, Order: raw.Order, Date: raw.Date}
	for _, item := range raw.Items {
		var v T
		if item[0] != '{' || decodeLenient(item, &v) != nil {
			v = *new(T)
		}
		p.Items = append(p.Items, v)
	}
	return p, nil
}

// yieldPages yields the items of all pages. It stops after the first error, which it
// yields with a zero item.
func yieldPages[T any](page func(cursor string) (*Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		var progress Progress
		items := 0
		seen := map[string]bool{}
		for cursor := ""; ; {
			p, err := page(cursor)
			if err == nil && seen[p.NextCursor] {
				err = ErrCursorLoop
			}
			if err == nil {
				err = progress.Note(len(p.Items) > 0)
				items += len(p.Items)
			}
			if err == nil && items > maxListed {
				err = ErrEndless
			}
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
			}
			if p.NextCursor == "" {
				return
			}
			cursor = p.NextCursor
			seen[cursor] = true
		}
	}
}
