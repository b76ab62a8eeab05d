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
// in rising order. It fails with a [DamagedError] where the record is damaged.
func ReadForgotten(ctx context.Context, place Place) ([]Forgotten, error) {
	list, _, err := readForgotten(ctx, place)
	return list, err
}

// readForgotten is ReadForgotten, with the bytes of a damaged record.
func readForgotten(ctx context.Context, place Place) (list []Forgotten, damaged []byte, err error) {
	raw, err := readFile(ctx, place, forgottenName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read which meetings were forgotten: %w", err)
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, raw, &DamagedError{place.String(), []string{forgottenName + ": " + err.Error() +
			"; the next backup of the archive writes it anew, or move it away, and meetings that only it knows as forgotten are back"}}
	}
	return list, nil, nil
}

// NoteForgotten adds forgotten meetings to those that a directory of backups records. A
// damaged record is set aside, under the name that is returned, and written anew.
// Only one process at a time may call it.
func NoteForgotten(ctx context.Context, place Place, forgotten []Forgotten) (aside string, err error) {
	write := func(name string, raw []byte) error {
		if err := place.Write(ctx, name, func(w io.Writer) error { _, err := w.Write(raw); return err }); err != nil {
			return fmt.Errorf("note which meetings were forgotten: %w", err)
		}
		return nil
	}
	list, damaged, err := readForgotten(ctx, place)
	if damaged != nil {
		aside, list = forgottenName+".damaged", []Forgotten{}
		err = write(aside, damaged)
	}
	if err != nil {
		return "", err
	}
	before := len(list)
	for _, f := range forgotten {
		if !slices.ContainsFunc(list[:before], func(k Forgotten) bool { return k.RecordingID == f.RecordingID }) {
			list = append(list, f)
		}
	}
	if len(list) == before && aside == "" {
		return "", nil
	}
	slices.SortFunc(list, func(a, b Forgotten) int { return cmp.Compare(a.RecordingID, b.RecordingID) })
	raw, err := json.Marshal(list)
	if err != nil {
		return aside, err
	}
	return aside, write(forgottenName, append(raw, '\n'))
}
