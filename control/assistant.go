package control

import (
	"context"
	"encoding/json"

	"minutebook/archive"
	"minutebook/mcp"
)

// AssistantRequest is one message of the Model Context Protocol.
type AssistantRequest struct {
	Message json.RawMessage `json:"message"`
}

// AssistantResult is the reply to a message. A notification has none.
type AssistantResult struct {
	Reply json.RawMessage `json:"reply,omitempty"`
}

// answerAssistant answers one message of an assistant by itself, so that a session
// is not tied to one process.
func (h Deps) answerAssistant(ctx context.Context, q AssistantRequest, _ Emit) (*AssistantResult, error) {
	index, err := h.Index(ctx)
	if err != nil {
		return nil, err
	}
	s, err := mcp.New(mcp.Options{Archive: h.Archive, Index: index, ViewerOf: func(context.Context) archive.Viewer { return archive.Viewer{All: true} },
		PageURL: h.PageURL, Location: h.Location, Version: h.Version, Logger: h.Logger})
	if err != nil {
		return nil, err
	}
	reply, err := s.Answer(ctx, q.Message)
	return &AssistantResult{Reply: reply}, err
}
