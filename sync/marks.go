package syncer

import (
	"context"
	"encoding/json"
	"fmt"

	"minutebook/archive"
)

// newMark returns the mark that keeps a value of this package, as JSON.
func newMark(key string, value any) archive.Mark {
	b, err := json.Marshal(value)
	if err != nil {
		panic("encode mark " + key + ": " + err.Error()) // only a time after the year 9999
	}
	return archive.Mark{Key: key, Value: b}
}

// decodeMark is the reverse of newMark.
func decodeMark[T any](key string, b []byte) (value T, err error) {
	if err := json.Unmarshal(b, &value); err != nil {
		return value, fmt.Errorf("read mark %s: %w", key, err)
	}
	return value, nil
}

// loadMark reads a value from the archive; ok is false when there is none.
func loadMark[T any](ctx context.Context, a *archive.Archive, key string) (value T, ok bool, err error) {
	b, err := a.Mark(ctx, key)
	if err != nil || b == nil {
		return value, false, err
	}
	value, err = decodeMark[T](key, b)
	return value, err == nil, err
}
