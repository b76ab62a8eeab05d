package web

import (
	"errors"
	"net/http"

	"minutebook/archive"
	"minutebook/archive/notes"
)

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
