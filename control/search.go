package control

import (
	"context"
	"errors"

	"minutebook/archive"
	"minutebook/search"
)

// SearchRequest asks for the meetings that match a query.
type SearchRequest struct {
	Query   string `json:"query"`
	Limit   int    `json:"limit"`   // meetings; 0 means 10
	Moments int    `json:"moments"` // per meeting; 0 means 3
	After   string `json:"after"`   // Next of the page before
}

// SearchResult is the form of `search --json`, see [search.Result].
type SearchResult = search.Result

// FoundMoment is a moment of a SearchResult.
type FoundMoment = search.FoundMoment

// PageResult is the address of the daemon's page, "" without a daemon.
type PageResult struct {
	URL string `json:"url"`
}

func (h Deps) page(context.Context, struct{}, Emit) (PageResult, error) {
	return PageResult{h.PageURL}, nil
}

func (h Deps) search(ctx context.Context, q SearchRequest, _ Emit) (*SearchResult, error) {
	index, err := h.Index(ctx)
	if err != nil {
		return nil, err
	}
	request := search.Request{Query: q.Query, Limit: q.Limit, Moments: q.Moments, After: q.After, Viewer: archive.Viewer{All: true}, Location: h.Location}
	if err := h.addNotes(ctx, &request); err != nil {
		return nil, err
	}
	answer, err := index.Search(ctx, request)
	if _, ok := errors.AsType[*search.QueryError](err); ok || errors.Is(err, search.ErrCursor) {
		return nil, &Error{Kind: KindQuery, Message: err.Error(), ExitCode: 2}
	}
	if err != nil {
		return nil, err
	}
	return answer.Result(), nil
}
