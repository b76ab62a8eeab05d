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
	At          time.Time `json:"at,omitzero"` // the meeting's state at that time; zero: now
}

// ShowResult is the Meeting in the service's shape with all its parts, as JSON. It
// crosses the socket as bytes, because an encoder would respace JSON within JSON
// and escape its <, > and &, and the parts are kept verbatim.
type ShowResult struct {
	Meeting []byte `json:"meeting"`
	// NotWatchedSince is Row.NotWatchedSince. It is zero for an earlier time.
	NotWatchedSince time.Time `json:"not_watched_since,omitzero"`
}

// noMeeting is the failure for a meeting that the archive has not, or had not at a time.
func noMeeting(id int64, at time.Time) error {
	e := &Error{Kind: KindNotFound, Message: fmt.Sprintf("no meeting %d in this archive", id)}
	if !at.IsZero() {
		e.Message += " at " + formatUTC(at)
	}
	return e
}

func (h Deps) show(ctx context.Context, q ShowRequest, _ Emit) (*ShowResult, error) {
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
		return nil, noMeeting(q.RecordingID, q.At)
	}
	if err != nil {
		return nil, err
	}
	return &ShowResult{Meeting: raw, NotWatchedSince: unwatched}, nil
}
