package control

import (
	"context"

	"minutebook/archive"
)

// RetentionRequest asks for the retention rules to be applied. Each meeting that
// they are about is an event, an archive.Expired.
type RetentionRequest struct {
	DryRun bool `json:"dry_run"` // only tell
}

// RetentionResult is what was deleted, or would be.
type RetentionResult struct {
	Rules      int   `json:"rules"`
	Meetings   int   `json:"meetings"`
	Recordings int   `json:"recordings"`
	Bytes      int64 `json:"bytes"`
}

func (h House) retention(ctx context.Context, q RetentionRequest, emit Emit) (RetentionResult, error) {
	r := RetentionResult{Rules: len(h.Retention)}
	each := func(e archive.Expired) {
		r.Meetings++
		r.Recordings += e.Recordings
		r.Bytes += e.Bytes
		_ = emit(e)
	}
	if !q.DryRun {
		return r, h.Archive.Retain(ctx, h.Retention, each)
	}
	expired, err := h.Archive.Expired(ctx, h.Retention)
	for _, e := range expired {
		each(e)
	}
	return r, err
}
