package control

import (
	"context"
	"encoding/json"
)

// ShowRequest asks for one meeting.
type ShowRequest struct {
	RecordingID int64 `json:"recording_id"`
}

// show returns the Meeting in the service's shape with all its parts.
func (h House) show(ctx context.Context, q ShowRequest, _ Emit) (json.RawMessage, error) {
	return h.Archive.MeetingJSON(ctx, q.RecordingID)
}
