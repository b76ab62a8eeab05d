package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"minutebook/archive"
)

// ShowRequest asks for one meeting.
type ShowRequest struct {
	RecordingID int64     `json:"recording_id"`
	At          time.Time `json:"at,omitzero"` // as it was then; zero: as it is
}

// ShowResult is the Meeting in the service's shape with all its parts, as JSON.
// It crosses the socket as bytes: as JSON within JSON it would be respaced and
// its <, > and & escaped, and the parts are kept as they arrived.
type ShowResult struct {
	Meeting []byte `json:"meeting"`
}

func (h House) show(ctx context.Context, q ShowRequest, _ Emit) (*ShowResult, error) {
	var raw []byte
	var err error
	if q.At.IsZero() {
		raw, err = h.Archive.MeetingJSON(ctx, q.RecordingID)
	} else {
		raw, err = h.showAt(ctx, q)
	}
	if errors.Is(err, archive.ErrNotFound) {
		return nil, &Error{Kind: KindNotFound, Message: fmt.Sprintf("the archive has no meeting %d", q.RecordingID)}
	}
	if err != nil {
		return nil, err
	}
	return &ShowResult{Meeting: raw}, nil
}
