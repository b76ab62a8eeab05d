package control

import (
	"context"
	"fmt"

	"minutebook/archive"
	"minutebook/receiver"
	"minutebook/service"
	syncer "minutebook/sync"
)

// StatusResult is the form of `status --json`.
type StatusResult struct {
	Version        string `json:"version"`
	Running        bool   `json:"running"` // a daemon owns the archive
	Meetings       int    `json:"meetings"`
	WithTranscript int    `json:"with_transcript"`
	WithSummary    int    `json:"with_summary"`
	WithRecording  int    `json:"with_recording"`
	Gone           int    `json:"gone"`
	NotWatched     int    `json:"not_watched"` // of accounts and list queries that left the configuration
	Indexed        int    `json:"indexed"`
	Rebuilding     bool   `json:"rebuilding"` // the index is being built anew
	RebuildReason  string `json:"rebuild_reason,omitempty"`
	// Receiver counts since the daemon's start; absent where none listens.
	Receiver *receiver.Counts `json:"receiver,omitempty"`
	// Service is the state of the service; absent where none runs.
	Service *service.State `json:"service,omitempty"`
	// Retention is the state of the rules; absent where there are none.
	Retention *archive.RetentionHold `json:"retention,omitempty"`
	// Configuration is that of the daemon; absent without one, or without a file.
	Configuration *ConfigurationState `json:"configuration,omitempty"`
	syncer.Status
}

// status counts the kept meetings and the open work. It never calls the service.
func (h Deps) status(ctx context.Context, _ struct{}, _ Emit) (*StatusResult, error) {
	counts, err := h.Archive.Counts(ctx)
	if err != nil {
		return nil, fmt.Errorf("count meetings: %w", err)
	}
	index, err := h.Index(ctx)
	if err != nil {
		return nil, err
	}
	s, err := h.Syncer(ctx)
	if err != nil {
		return nil, err
	}
	now, err := s.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the state of the sync: %w", err)
	}
	hold, err := h.retentionHold(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at the retention rules: %w", err)
	}
	p := index.Progress()
	var received *receiver.Counts
	if h.Received != nil {
		c := h.Received()
		received = &c
	}
	var serving *service.State
	if h.ServiceState != nil {
		if serving, err = h.ServiceState(ctx); err != nil {
			return nil, err
		}
	}
	return &StatusResult{
		Version: h.Version, Running: h.Running,
		Meetings: counts.Meetings, WithTranscript: counts.WithTranscript, WithSummary: counts.WithSummary,
		WithRecording: counts.WithRecording, Gone: counts.Gone, NotWatched: counts.NotWatched,
		Indexed: p.Indexed, Rebuilding: p.Rebuilding, RebuildReason: p.Reason, Receiver: received, Retention: hold, Service: serving, Configuration: h.showConfiguration(), Status: now,
	}, nil
}
