package control

import (
	"context"

	syncer "minutebook/sync"
)

// SyncResult reports that a run ended.
type SyncResult struct {
	Done bool `json:"done"`
}

// sync runs one synchronisation now; its events are syncer.Event.
func (h Deps) sync(ctx context.Context, q syncer.Request, emit Emit) (*SyncResult, error) {
	s, err := h.Syncer(ctx)
	if err != nil {
		return nil, err
	}
	// A caller that has gone cancels ctx, so an event that cannot be delivered needs
	// no handling of its own.
	if err := s.Sync(ctx, q, func(e syncer.Event) { _ = emit(e) }); err != nil {
		return nil, err
	}
	return &SyncResult{Done: true}, nil
}
