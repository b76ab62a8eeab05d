package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"minutebook/archive/roster"
)

// mostActions is how many action items one page shows.
const mostActions = 300

// actionsPage lists the action items of all meetings by person.
type actionsPage struct {
	frame
	Filter actionFilter
	People []assignee
	Groups []actionGroup
	More   bool // the page does not list all of them
}

// actionFilter is the state of the page, which its address has.
type actionFilter struct {
	Person string // whose, "" everybody's, "-" nobody's
	State  roster.State
	Text   string // words of the description
	Age    string // a key of actionAges; "" any
	Oldest bool   // the oldest first
}

// actionAge is an age of the meetings of action items, in days: at most, or above.
type actionAge struct {
	Key, Label  string
	Most, Above int
}

// actionAges are the ages to choose from.
func actionAges() []actionAge {
	return []actionAge{{"week", "of the last 7 days", 7, 0}, {"month", "of the last 30 days", 30, 0}, {"older", "older than 30 days", 0, 30}, {"old", "older than 90 days", 0, 90}}
}

// Ages returns the ages to choose from.
func (f actionFilter) Ages() []actionAge { return actionAges() }

// Any tells whether the items are narrowed by more than person and state.
func (f actionFilter) Any() bool { return f.Text != "" || f.Age != "" }

// Address returns the address of the page with the filter.
func (f actionFilter) Address() string {
	q := url.Values{}
	for key, value := range map[string]string{"person": f.Person, "q": f.Text, "age": f.Age} {
		if value != "" {
			q.Set(key, value)
		}
	}
	if f.State != roster.Open {
		q.Set("state", string(f.State))
	}
	if f.Oldest {
		q.Set("sort", "oldest")
	}
	if len(q) == 0 {
		return "/actions"
	}
	return "/actions?" + q.Encode()
}

// AtState returns the address of the same page in another state.
func (f actionFilter) AtState(state roster.State) string {
	f.State = state
	return f.Address()
}

// atPerson returns the address of the same page for another person.
func (f actionFilter) atPerson(person string) string {
	f.Person = person
	return f.Address()
}

// assignee is a person in the filter, with the address of their items.
type assignee struct {
	Label, Key, Address string
	Count               int // of items in the page's state
	Chosen              bool
}

// actionGroup is one person's items.
type actionGroup struct {
	Label, Address string // Address is that of the person's page, "" for nobody
	Items          []openItem
}

// actions answers /actions?person=&state=&q=&age=&sort=.
func (s *server) actions(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	filter, query, err := s.actionQuery(r)
	if err != nil {
		return err
	}
	view, err := s.view(ctx)
	if err != nil {
		return err
	}
	query.Limit = mostActions
	list, err := s.Roster.Items(ctx, view, query)
	if err != nil {
		return err
	}
	items, err := s.readItems(r, view, list)
	if err != nil {
		return err
	}
	p := actionsPage{frame: s.newFrame(r, "actions", "Action items"), Filter: filter, People: listAssignees(list, filter), More: list.More}
	p.Groups = groupItems(items, list)
	return s.render(w, http.StatusOK, "actions", p)
}

// actionQuery reads the filter of action items from an address.
func (s *server) actionQuery(r *http.Request) (f actionFilter, query roster.ItemQuery, err error) {
	q := r.URL.Query()
	f = actionFilter{Person: q.Get("person"), State: roster.State(q.Get("state")), Text: strings.TrimSpace(q.Get("q")), Age: q.Get("age"), Oldest: q.Get("sort") == "oldest"}
	switch f.State {
	case "":
		f.State = roster.Open
	case roster.Open, roster.Done, roster.All:
	default:
		return f, query, &failure{http.StatusBadRequest, "An action item's state is open, done or all."}
	}
	query = roster.ItemQuery{Person: f.Person, State: f.State, Oldest: f.Oldest}
	known := f.Age == ""
	for _, age := range actionAges() {
		if age.Key != f.Age {
			continue
		}
		known = true
		if age.Most > 0 {
			query.Since = s.Now().AddDate(0, 0, -age.Most)
		} else {
			query.Before = s.Now().AddDate(0, 0, -age.Above)
		}
	}
	if !known {
		return f, query, &failure{http.StatusBadRequest, "The age of action items is week, month, older or old."}
	}
	if words := strings.Fields(f.Text); len(words) > 0 {
		query.Among, err = s.Archive.FindActionItems(r.Context(), words[:min(len(words), 20)])
	}
	return f, query, err
}

// listAssignees returns the people with items in the page's state.
func listAssignees(l roster.ItemList, f actionFilter) (all []assignee) {
	count := func(p roster.Person) int {
		switch f.State {
		case roster.Done:
			return p.Done
		case roster.All:
			return p.Open + p.Done
		}
		return p.Open
	}
	l.Nobody.Key, l.Nobody.Name = roster.Nobody, "Nobody yet"
	for _, p := range append(l.People, l.Nobody) {
		a := assignee{Label: p.Name, Key: p.Key, Count: count(p), Chosen: f.Person == p.Key || slices.Contains(l.Asked, p.Key)}
		if a.Count == 0 && !a.Chosen {
			continue
		}
		if a.Address = f.atPerson(p.Key); a.Chosen {
			a.Address = f.atPerson("") // choosing again means everybody
		}
		all = append(all, a)
	}
	return all
}

// groupItems groups items by person, in the order of the people.
func groupItems(items []openItem, l roster.ItemList) (groups []actionGroup) {
	by := map[string][]openItem{}
	for _, i := range items {
		by[i.Owner] = append(by[i.Owner], i)
	}
	for _, p := range l.People {
		if list := by[p.Key]; len(list) > 0 {
			groups = append(groups, actionGroup{p.Name, personAddress(p.Key), list})
		}
	}
	if list := by[roster.Nobody]; len(list) > 0 {
		groups = append(groups, actionGroup{"Nobody yet", "", list})
	}
	return groups
}
