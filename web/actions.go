package web

import (
	"net/http"
	"net/url"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// mostActions is how many action items one page shows.
const mostActions = 500

// actionsPage is what was agreed to be done, across all meetings, by person.
type actionsPage struct {
	frame
	Person string // whose, "" everybody's, "-" nobody's
	State  string // open, done or all
	People []assignee
	Groups []actionGroup
	More   bool // not all of them are here
}

// assignee is a person to choose, with the address of their items.
type assignee struct {
	Label, Key, Address string
	Open, Done          int
	Chosen              bool
}

// actionGroup is one person's items.
type actionGroup struct {
	Label string
	Items []agreed
}

// agreed is an action item and where it was agreed.
type agreed struct {
	action
	Meeting string
	Start   time.Time
}

// actions answers /actions?person=&state=.
func (s *server) actions(w http.ResponseWriter, r *http.Request) error {
	query, err := actionQuery(r.URL.Query())
	if err != nil {
		return err
	}
	p := actionsPage{frame: s.newFrame("actions", "Action items"), Person: query.Person, State: stateOf(query)}
	counts, err := s.Archive.Assignees(r.Context(), viewer)
	if err != nil {
		return err
	}
	for _, c := range counts {
		p.People = append(p.People, newAssignee(c, p.Person, p.State))
	}
	query.Limit = mostActions + 1
	items, err := s.Archive.ActionItems(r.Context(), query)
	if err != nil {
		return err
	}
	if len(items) > mostActions {
		items, p.More = items[:mostActions], true
	}
	p.Groups = s.grouped(items, p.People)
	return s.render(w, http.StatusOK, "actions", p)
}

func actionQuery(q url.Values) (archive.ActionQuery, error) {
	query := archive.ActionQuery{Viewer: viewer, Person: q.Get("person")}
	done := false
	switch q.Get("state") {
	case "", "open":
		query.Completed = &done
	case "done":
		done = true
		query.Completed = &done
	case "all":
	default:
		return query, &failure{http.StatusBadRequest, "An action item's state is open, done or all."}
	}
	return query, nil
}

func stateOf(q archive.ActionQuery) string {
	switch {
	case q.Completed == nil:
		return "all"
	case *q.Completed:
		return "done"
	}
	return "open"
}

func newAssignee(c archive.AssigneeCount, chosen, state string) assignee {
	a := assignee{Label: c.Name, Key: c.Email, Open: c.Open, Done: c.Done}
	if a.Key == "" {
		a.Key = c.Name
	}
	if a.Label == "" {
		a.Label = c.Email
	}
	if a.Key == "" {
		a.Label, a.Key = "Nobody yet", "-"
	}
	a.Chosen = chosen != "" && (chosen == a.Key || chosen == c.Name)
	to := a.Key
	if a.Chosen {
		to = "" // choosing again means everybody
	}
	a.Address = actionsAddress(to, state)
	return a
}

func actionsAddress(person, state string) string {
	q := url.Values{}
	if person != "" {
		q.Set("person", person)
	}
	if state != "open" {
		q.Set("state", state)
	}
	if len(q) == 0 {
		return "/actions"
	}
	return "/actions?" + q.Encode()
}

// grouped puts items under their people, in the order of the people.
func (s *server) grouped(items []archive.ActionRow, people []assignee) []actionGroup {
	byKey := map[string][]agreed{}
	for _, i := range items {
		key := i.Email
		if key == "" {
			key = i.Assignee
		}
		if key == "" {
			key = "-"
		}
		v := agreed{Meeting: i.Title, Start: i.Start.In(s.Location), action: action{
			Text: i.Description, Done: i.Completed, ByHand: i.UserGenerated, At: i.Offset,
			Address: meetingAddress(i.RecordingID, i.Offset, -1, "")}}
		if v.Meeting == "" {
			v.Meeting = "Untitled meeting"
		}
		byKey[key] = append(byKey[key], v)
	}
	var groups []actionGroup
	for _, p := range people {
		if list := byKey[p.Key]; len(list) > 0 {
			groups = append(groups, actionGroup{Label: p.Label, Items: list})
		}
	}
	return groups
}

// actionJSON is an action item in the JSON list.
type actionJSON struct {
	RecordingID   int64    `json:"recording_id"`
	Title         string   `json:"title"`
	Start         api.Time `json:"recording_start_time"`
	Description   string   `json:"description"`
	Completed     bool     `json:"completed"`
	OffsetSeconds *float64 `json:"offset_seconds"`
	Assignee      struct {
		Name  string `json:"name"`
		Email string `json:"email"`
		Team  string `json:"team"`
	} `json:"assignee"`
}

// apiActions lists action items: ?person, state, limit.
func (s *server) apiActions(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	query, err := actionQuery(q)
	if err != nil {
		return err
	}
	if query.Limit, err = numberAsked(q, "limit", mostActions, 1, 10000); err != nil {
		return err
	}
	items, err := s.Archive.ActionItems(r.Context(), query)
	if err != nil {
		return err
	}
	out := make([]actionJSON, len(items))
	for n, i := range items {
		out[n] = actionJSON{RecordingID: i.RecordingID, Title: i.Title, Start: api.TimeOf(i.Start),
			Description: i.Description, Completed: i.Completed}
		out[n].Assignee.Name, out[n].Assignee.Email, out[n].Assignee.Team = i.Assignee, i.Email, i.Of
		if i.Offset >= 0 {
			seconds := i.Offset.Seconds()
			out[n].OffsetSeconds = &seconds
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"action_items": out})
	return nil
}
