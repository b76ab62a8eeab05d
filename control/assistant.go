package control

import (
	"context"
	"encoding/json"

	"minutebook/archive"
	"minutebook/archive/roster"
	"minutebook/mcp"
	"minutebook/search"
)

// AssistantRequest is one message of the Model Context Protocol.
type AssistantRequest struct {
	Message json.RawMessage `json:"message"`
}

// AssistantResult is the reply to a message. A notification has none.
type AssistantResult struct {
	Reply json.RawMessage `json:"reply,omitempty"`
}

// ownersView is how the owner sees people: with merged persons and ticks.
func (h Deps) ownersView(ctx context.Context) (v roster.View, err error) {
	v.Viewer = archive.Viewer{All: true}
	if h.Notes == nil {
		return v, nil
	}
	added, err := h.Notes(ctx)
	if err != nil {
		return v, err
	}
	if v.Groups, err = added.Groups(ctx); err == nil {
		v.Ticks, err = added.AllTicks(ctx)
	}
	return v, err
}

// answerAssistant answers one message of an assistant by itself, so that a session
// is not tied to one process.
func (h Deps) answerAssistant(ctx context.Context, q AssistantRequest, _ Emit) (*AssistantResult, error) {
	index, err := h.Index(ctx)
	if err != nil {
		return nil, err
	}
	s, err := mcp.New(mcp.Options{Archive: h.Archive, Index: index, ViewerOf: func(context.Context) archive.Viewer { return archive.Viewer{All: true} },
		PageURL: h.PageURL, Location: h.Location, Version: h.Version, Logger: h.Logger, View: h.ownersView,
		AddNotes: func(ctx context.Context, r *search.Request) {
			_ = h.addNotes(ctx, r) // a search without them is better than none
		}})
	if err != nil {
		return nil, err
	}
	reply, err := s.Answer(ctx, q.Message)
	return &AssistantResult{Reply: reply}, err
}
