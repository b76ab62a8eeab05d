package generation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"
)

// forgottenName is the file of a directory of backups with the meetings that were
// forgotten, so that no restore brings them back from a generation that holds them.
const forgottenName = "forgotten.json"

// Forgotten is a meeting that was forgotten. Only its id is kept.
type Forgotten struct {
	RecordingID int64     `json:"recording_id"`
	At          time.Time `json:"forgotten_at"`
}

// ReadForgotten returns the meetings that a directory of backups records as forgotten,
// in rising order.
func ReadForgotten(ctx context.Context, place Place) ([]Forgotten, error) {
	raw, err := readFile(ctx, place, forgottenName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []Forgotten
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("read which meetings were forgotten: %w", err)
	}
	return list, nil
}

// NoteForgotten adds forgotten meetings to those that a directory of backups records.
// Only one process at a time may call it.
func NoteForgotten(ctx context.Context, place Place, forgotten []Forgotten) error {
	list, err := ReadForgotten(ctx, place)
	if err != nil {
		return err
	}
	before := len(list)
	for _, f := range forgotten {
		if !slices.ContainsFunc(list[:before], func(k Forgotten) bool { return k.RecordingID == f.RecordingID }) {
			list = append(list, f)
		}
	}
	if len(list) == before {
		return nil
	}
	slices.SortFunc(list, func(a, b Forgotten) int { return cmp.Compare(a.RecordingID, b.RecordingID) })
	raw, err := json.Marshal(list)
	if err == nil {
		err = place.Write(ctx, forgottenName, func(w io.Writer) error { _, err := w.Write(append(raw, '\n')); return err })
	}
	if err != nil {
		return fmt.Errorf("note which meetings were forgotten: %w", err)
	}
	return nil
}
