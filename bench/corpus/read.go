package corpus

import (
	"encoding/json"
	"path/filepath"

	real "minutebook/internal/corpus"
)

// ErrMissing is returned where the corpus is not on this machine.
var ErrMissing = real.ErrMissing

// Dir is the corpus's folder. It fails with ErrMissing.
func Dir() (string, error) { return real.Dir() }

// Question is a question in plain English, the meeting that answers it, and
// the stretches of the recording where, as offsets HH:MM:SS.
type Question struct {
	Query       string      `json:"query"`
	RecordingID int64       `json:"recording_id"`
	Spans       [][2]string `json:"spans"`
}

// Questions reads the corpus's questions.
func Questions(dir string) ([]Question, error) {
	var out []Question
	err := real.EachLine(filepath.Join(dir, "qmsum-queries.ndjson.gz"), func(line []byte) error {
		var q Question
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		out = append(out, q)
		return nil
	})
	return out, err
}
