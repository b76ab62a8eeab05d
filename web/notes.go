package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/search"
)

// addNotes makes a search know the merged persons, and the notes that a person reads.
func (s *server) addNotes(ctx context.Context, person int64, request *search.Request) {
	request.Notes = func(ctx context.Context, words string) (map[int64][]time.Duration, error) {
		return s.Notes.Matches(ctx, person, words)
	}
	groups, err := s.Notes.Groups(ctx)
	if err != nil { // a search without them is better than none
		s.Logger.Error().Err(err).Msg("read merged persons for a search")
		return
	}
	request.SamePerson = groups.Same
}

// toNotesFailure makes a failure of an error of package notes that a person can mend.
func toNotesFailure(err error) error {
	for _, reason := range []error{notes.ErrText, notes.ErrNames, notes.ErrSearch, notes.ErrExists, notes.ErrMany, notes.ErrAddress} {
		if errors.Is(err, reason) {
			return &failure{http.StatusUnprocessableEntity, sentence(reason)}
		}
	}
	if errors.Is(err, archive.ErrNotFound) {
		return &failure{http.StatusNotFound, "It is not there any more: it was deleted, or is somebody else's."}
	}
	return err
}
