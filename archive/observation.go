package archive

import (
	"encoding/json"
	"fmt"
	"time"

	"minutebook/api"
)

// Source is the way by which something arrived.
type Source string

// The sources. All but SourceWebhook and SourceImport are reads.
const (
	SourceWebhook    Source = "webhook"    // a signed delivery
	SourceList       Source = "list"       // an item of GET /meetings
	SourceTranscript Source = "transcript" // GET /recordings/{id}/transcript
	SourceSummary    Source = "summary"    // GET /recordings/{id}/summary
	SourceCallback   Source = "callback"   // a transcript or summary sent on request
	SourceImport     Source = "import"     // a file
)

// read tells whether the source shows content as it was at the observation's time.
func (s Source) read() bool {
	switch s {
	case SourceList, SourceTranscript, SourceSummary, SourceCallback:
		return true
	}
	return false
}

func (s Source) valid() bool { return s.read() || s == SourceWebhook || s == SourceImport }

// Observation is one showing of a meeting, or of some of its parts.
type Observation struct {
	Account string
	Source  Source
	// At dates the content: of a read, when its request was sent; of a webhook,
	// the meeting's finalisation (created_at), whenever it arrived; of an
	// import, when the file was written.
	At time.Time
	// Order is, of a read, the number that NextOrder gave when its request was
	// sent: the read with the greater one is the newer. 0: At decides.
	Order int64
	// Query is the list query that showed the meeting, for SourceList: "" the
	// plain list, else a name of the caller's choice such as "teams:Sales". It
	// feeds the sightings that CompleteWalk judges.
	Query string
	// Walk is the latest walk of the query that had begun when the page was asked
	// for (LatestWalk), 0 when none had. Absence is judged by it, not by At.
	Walk        int64
	RecordingID int64
	Parts       map[api.Part]json.RawMessage // verbatim; absent parts are left out
}

// FromMeeting makes the observation of a whole Meeting object. It fails when raw
// is not a JSON object with a recording_id.
func FromMeeting(account string, src Source, at time.Time, raw []byte) (Observation, error) {
	id, parts, err := api.SplitMeeting(raw)
	if err != nil {
		return Observation{}, fmt.Errorf("read meeting: %w", err)
	}
	return Observation{Account: account, Source: src, At: at, RecordingID: id, Parts: parts}, nil
}
