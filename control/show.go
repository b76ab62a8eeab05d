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
	// NotWatchedSince is Row.NotWatchedSince, and zero of an earlier time.
	NotWatchedSince time.Time `json:"not_watched_since,omitzero"`
}

func (h House) show(ctx context.Context, q ShowRequest, _ Emit) (*ShowResult, error) {
	var raw []byte
	var err error
	var unwatched time.Time
	if q.At.IsZero() {
		var row *archive.Row
		if row, err = h.Archive.Row(ctx, q.RecordingID); err == nil {
			unwatched = row.NotWatchedSince
			raw, err = h.Archive.MeetingJSON(ctx, q.RecordingID)
		}
	} else {
		raw, err = h.showAt(ctx, q)
	}
	if errors.Is(err, archive.ErrNotFound) {
		return nil, &Error{Kind: KindNotFound, Message: fmt.Sprintf("the archive has no meeting %d", q.RecordingID)}
	}
	if err != nil {
		return nil, err
	}
	return &ShowResult{Meeting: raw, NotWatchedSince: unwatched}, nil
}
