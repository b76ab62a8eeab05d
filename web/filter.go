package web

import (
	"net/http"
	"slices"

	"minutebook/archive"
)

// listFilter holds the filters of the list of meetings and their options.
type listFilter struct{ Type, Team, Person picker }

// picker is one filter as a field of the form.
type picker struct {
	Name, Label, Value string
	Options            []string
}

// Any reports whether the list is narrowed at all.
func (f listFilter) Any() bool {
	return f.Type.Value != "" || f.Team.Value != "" || f.Person.Value != ""
}

// listFilter returns the filters with the options of the archive. The chosen value
// is always among them, so that sending the form again keeps it.
func (s *server) listFilter(r *http.Request, q archive.ListQuery) (listFilter, error) {
	c, err := s.Archive.Choices(r.Context(), viewerOf(r.Context()))
	pick := func(name, label, value string, options []string) picker {
		if value != "" && !slices.Contains(options, value) {
			options = append([]string{value}, options...)
		}
		return picker{name, label, value, options}
	}
	return listFilter{pick("type", "Type", q.Type, c.Types), pick("team", "Team", q.Team, c.Teams),
		pick("person", "Person", q.Person, c.People)}, err
}
