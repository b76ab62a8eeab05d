package web

import (
	"net/http"
	"net/url"
	"time"

	"minutebook/archive"
)

// mostActions is how many action items one page shows.
const mostActions = 500

// actionsPage lists the action items of all meetings by person.
type actionsPage struct {
	frame
	Person string // whose, "" everybody's, "-" nobody's
	State  string // open, done or all
	People []assignee
	Groups []actionGroup
	More   bool // the page does not list all of them
}

// assignee is a person in the filter, with the address of their items.
type assignee struct {
	Label, Key, Address string
	Open, Done          int
	Chosen              bool
}

// Count returns the number of items in a state.
func (a assignee) Count(state string) int {
	switch state {
	case "done":
		return a.Done
	case "all":
		return a.Open + a.Done
	}
	return a.Open
}

// actionGroup is one person's items.
type actionGroup struct {
	Label string
	Items []meetingAction
}

// meetingAction is an action item with its meeting.
type meetingAction struct {
	action
	Meeting string
	Start   time.Time
}

// actions answers /actions?person=&state=.
func (s *server) actions(w http.ResponseWriter, r *http.Request) error {
	query, err := actionQuery(r)
	if err != nil {
		return err
	}
	p := actionsPage{frame: s.newFrame(r, "actions", "Action items"), Person: query.Person, State: actionState(query)}
	counts, err := s.Archive.Assignees(r.Context(), viewerOf(r.Context()))
	if err != nil {
		return err
	}
	for _, c := range mergeAssignees(counts) {
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
	p.Groups = s.groupItems(items, p.People)
	return s.render(w, http.StatusOK, "actions", p)
}

// mergeAssignees adds the items of a bare name to the person with this name and an
// email address. If several persons have the name, it stays separate.
func mergeAssignees(counts []archive.AssigneeCount) []archive.AssigneeCount {
	addressed := map[string][]int{} // indexes of the counts with an email address, by name
	for i, c := range counts {
		if c.Email != "" && c.Name != "" {
			addressed[c.Name] = append(addressed[c.Name], i)
		}
	}
	var out []archive.AssigneeCount
	for _, c := range counts {
		if namesakes := addressed[c.Name]; len(namesakes) == 1 && c.Email == "" {
			counts[namesakes[0]].Open += c.Open
			counts[namesakes[0]].Done += c.Done
		}
	}
	for _, c := range counts {
		namesakes := addressed[c.Name]
		switch {
		case len(namesakes) == 1 && c.Email == "":
			continue
		case len(namesakes) == 1:
			c.Email = "" // the name alone finds the items of both
		}
		out = append(out, c)
	}
	return out
}

func actionQuery(r *http.Request) (archive.ActionQuery, error) {
	q := r.URL.Query()
	query := archive.ActionQuery{Viewer: viewerOf(r.Context()), Person: q.Get("person")}
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

func actionState(q archive.ActionQuery) string {
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

// groupItems groups items by person, in the order of people.
func (s *server) groupItems(items []archive.ActionRow, people []assignee) []actionGroup {
	byKey, isPerson := map[string][]meetingAction{}, map[string]bool{}
	for _, p := range people {
		isPerson[p.Key] = true
	}
	for _, i := range items {
		key := assigneeKey(i, isPerson)
		v := meetingAction{Meeting: i.Title, Start: i.Start.In(s.Location), action: action{
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

// assigneeKey returns the key of the known person that an item is assigned to, or
// "-".
func assigneeKey(i archive.ActionRow, isPerson map[string]bool) string {
	switch {
	case i.Email != "" && isPerson[i.Email]:
		return i.Email
	case i.Assignee != "" && isPerson[i.Assignee]:
		return i.Assignee
	}
	return "-"
}
