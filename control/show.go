package control

import (
	"context"
	"encoding/json"
	"time"
)

// ShowRequest asks for one meeting.
type ShowRequest struct {
	RecordingID int64     `json:"recording_id"`
	At          time.Time `json:"at,omitzero"` // as it was then; zero: as it is
}

// show returns the Meeting in the service's shape with all its parts.
func (h House) show(ctx context.Context, q ShowRequest, _ Emit) (json.RawMessage, error) {
	if !q.At.IsZero() {
		return h.showAt(ctx, q)
	}
	return h.Archive.MeetingJSON(ctx, q.RecordingID)
}
