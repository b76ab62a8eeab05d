package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// readJSON decodes a request's body into v. With optional, an empty body leaves
// v as it is. Unknown keys are ignored; a wrong type is a 400 that names its key.
func readJSON(r *http.Request, v any, optional bool) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return badRequest("the body could not be read")
	}
	if body = bytes.TrimSpace(body); len(body) == 0 && optional {
		return nil
	}
	if err := json.Unmarshal(body, v); err != nil {
		if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && mistyped.Field != "" {
			return badRequest("%s has the wrong type", mistyped.Field)
		}
		return badRequest("the body must be a JSON object")
	}
	return nil
}
