package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"minutebook/api"
	"minutebook/archive/inbox"
)

// FromDelivery reads a delivery as an observation of a meeting. Its error, a sentence for
// a person, means that the delivery belongs in quarantine: it is not JSON, of an
// unknown kind or shape, or damaged. A download callback is only a hint to read the
// download; for it FromDelivery checks the shape and returns no parts.
//
// A webhook's observation is dated by the meeting's created_at, or else by when
// it was sent, if that is known; any other by when it was received.
func FromDelivery(d inbox.Delivery) (Observation, error) {
	switch {
	case d.Body == nil:
		return Observation{}, errors.New("its body is damaged or was dropped")
	case !json.Valid(d.Body):
		return Observation{}, errors.New("it is not JSON")
	}
	switch d.Kind {
	case inbox.KindWebhook, "":
		return observeWebhook(d)
	case inbox.KindTranscript, inbox.KindSummary, inbox.KindDownload:
		return observeCallback(d)
	}
	return Observation{}, fmt.Errorf("unknown kind %q", d.Kind)
}

func observeWebhook(d inbox.Delivery) (Observation, error) {
	o, err := FromMeeting(d.Account, SourceWebhook, d.ReceivedAt, d.Body)
	if err != nil {
		return Observation{}, fmt.Errorf("it is not a meeting: %w", err)
	}
	if o.RecordingID <= 0 {
		return Observation{}, fmt.Errorf("it is not a meeting: recording_id %d", o.RecordingID)
	}
	if !d.SentAt.IsZero() {
		o.At = d.SentAt
	}
	var m struct {
		CreatedAt api.Opt[api.Time] `json:"created_at"`
	}
	if json.Unmarshal(d.Body, &m) == nil {
		if at, ok := m.CreatedAt.Get(); ok && !at.IsZero() {
			o.At = at.Time
		}
	}
	return o, nil
}

// callbackParts names the member of a callback's body that holds its content,
// and the part of a meeting that this is.
var callbackParts = map[string]struct {
	member string
	part   api.Part
}{
	inbox.KindTranscript: {"transcript", api.PartTranscript},
	inbox.KindSummary:    {"summary", api.PartSummary},
}

// observeCallback takes the object of the synchronous answer, with or without a
// recording_id, or its bare value.
func observeCallback(d inbox.Delivery) (Observation, error) {
	o := Observation{Account: d.Account, Source: SourceCallback, At: d.ReceivedAt, RecordingID: d.RecordingID}
	d.Body = bytes.TrimSpace(d.Body)
	var body map[string]json.RawMessage
	_ = json.Unmarshal(d.Body, &body) // not an object: no members
	if raw, ok := body["recording_id"]; ok {
		var id int64
		if json.Unmarshal(raw, &id) != nil || id != d.RecordingID {
			return Observation{}, fmt.Errorf("it is about recording %.40s, and its address was given for %d", raw, d.RecordingID)
		}
	}
	if d.Kind == inbox.KindDownload {
		if _, ok := body["download_id"]; !ok {
			return Observation{}, errors.New("it is not a download: it has no download_id")
		}
		return o, nil
	}
	want := callbackParts[d.Kind]
	raw, ok := body[want.member]
	if !ok {
		if _, summary := body["markdown_formatted"]; d.Body[0] != '[' && !(summary && d.Kind == inbox.KindSummary) {
			return Observation{}, fmt.Errorf("it is not a %s: it has no member %q", d.Kind, want.member)
		}
		raw = d.Body
	}
	if string(raw) != "null" {
		if err := checkShape(d.Kind, raw); err != nil {
			return Observation{}, err
		}
	}
	o.Parts = map[api.Part]json.RawMessage{want.part: raw}
	return o, nil
}

// checkShape checks that a value has the shape of its kind's content.
func checkShape(kind string, raw json.RawMessage) error {
	if kind == inbox.KindTranscript {
		var entries []map[string]json.RawMessage
		if json.Unmarshal(raw, &entries) != nil {
			return errors.New("its transcript is not an array of entries")
		}
		return nil
	}
	var summary map[string]json.RawMessage
	if json.Unmarshal(raw, &summary) != nil {
		return errors.New("its summary is not an object")
	}
	return nil
}
