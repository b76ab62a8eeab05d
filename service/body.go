package service

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"minutebook/internal/rawjson"
)

// readJSON decodes the members of a request's body into the values of fields, by their
// exact names: encoding/json would take "Include_Summary" for "include_summary" too. With
// optional, the body may be empty. Unknown keys are ignored; a known one that is there
// twice, or has a value of another type or null, is a 400 that names it.
func readJSON(r *http.Request, fields map[string]any, optional bool) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return badRequest("the body could not be read")
	}
	if body = bytes.TrimSpace(body); len(body) == 0 && optional {
		return nil
	}
	members, err := rawjson.Members(body)
	if err != nil {
		return badRequest("the body must be a JSON object")
	}
	seen := map[string]bool{}
	for _, m := range members {
		value, known := fields[m.Key]
		switch {
		case !known:
		case seen[m.Key]:
			return badRequest("%s is given more than once", m.Key)
		case string(m.Value) == "null" || json.Unmarshal(m.Value, value) != nil:
			return badRequest("%s has the wrong type", m.Key)
		}
		seen[m.Key] = true
	}
	return nil
}
