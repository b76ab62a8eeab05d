package web

import (
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"minutebook/archive/notes"
	"minutebook/archive/roster"
	"minutebook/search/text"
)

// peopleListSize is how many people a page of the list shows.
const peopleListSize = 100

// mostSuggestions is how many suggested merges are shown.
const mostSuggestions = 8

// peopleList lists who appears in the meetings that the visitor sees.
type peopleList struct {
	frame
	Filter    string
	All       int // people whom the filter finds
	People    []personRow
	Newer     string // the address of the page before
	Older     string // the address of the next page
	Suggested []suggestion
	MayMerge  bool
}

// suggestion is two people who may be one; see [roster.Suggest].
type suggestion struct {
	Person, Other personRow
	Company       string
}

// personRow is a person in a list.
type personRow struct {
	roster.Person
	Last time.Time // in the reader's zone
}

// Address returns the address of the person's page.
func (p personRow) Address() string { return personAddress(p.Key) }

// Percent returns the person's share of the words, in percent.
func (p personRow) Percent() int { return int(p.Share()*100 + .5) }

// Hours returns the time of the meetings: "3 h", or minutes below two hours.
func (p personRow) Hours() string {
	if p.Time < 2*time.Hour {
		return formatMinutes(p.Time)
	}
	return formatMinutes(p.Time.Round(time.Hour))
}

// personAddress returns the address of a person's page. A slash stands in it as it is where
// it may: many proxies refuse escaped ones, or send them on as others.
func personAddress(key string) string {
	if key == "." || key == ".." { // browsers would go up
		key += " "
	}
	address := "/people/" + url.PathEscape(key)
	if bare := "/people/" + key; path.Clean(bare) == bare {
		address = strings.ReplaceAll(address, "%2F", "/")
	}
	return address
}

func (s *server) newPersonRow(p roster.Person) personRow {
	return personRow{p, p.Last.In(s.Location)}
}

// showPeople answers /people?q=&page=.
func (s *server) showPeople(w http.ResponseWriter, r *http.Request) error {
	ctx, q := r.Context(), r.URL.Query()
	number, err := parseNumber(q, "page", 1, 1, 1_000_000)
	if err != nil {
		return err
	}
	view, err := s.view(ctx)
	if err != nil {
		return err
	}
	people, err := s.Roster.People(ctx, view)
	if err != nil {
		return err
	}
	p := &peopleList{frame: s.newFrame(r, "people", "People"), Filter: strings.TrimSpace(q.Get("q")), MayMerge: visitorOf(ctx).Admin}
	if p.MayMerge && p.Filter == "" && number == 1 {
		for _, pair := range roster.Suggest(people, view.Groups) {
			if len(p.Suggested) < mostSuggestions {
				p.Suggested = append(p.Suggested, suggestion{s.newPersonRow(pair.Person), s.newPersonRow(pair.Other), pair.Company})
			}
		}
	}
	people = filterPeople(people, p.Filter)
	p.All = len(people)
	from := min((number-1)*peopleListSize, len(people))
	to := min(from+peopleListSize, len(people))
	for _, person := range people[from:to] {
		p.People = append(p.People, s.newPersonRow(person))
	}
	at := func(page int) string {
		v := url.Values{"page": {strconv.Itoa(page)}}
		if p.Filter != "" {
			v.Set("q", p.Filter)
		}
		return "/people?" + v.Encode()
	}
	if from > 0 {
		p.Newer = at(number - 1)
	}
	if to < len(people) {
		p.Older = at(number + 1)
	}
	return s.render(w, http.StatusOK, "people", p)
}

// filterPeople returns the people with a name or address that contains every word, whatever its
// capitals and accents.
func filterPeople(people []roster.Person, filter string) []roster.Person {
	words := strings.Fields(text.Fold(filter))
	if len(words) == 0 {
		return people
	}
	var found []roster.Person
	for _, p := range people {
		names, has := text.Fold(strings.Join(p.Names, "\n")+"\n"+p.Name), true
		for _, word := range words {
			has = has && strings.Contains(names, word)
		}
		if has {
			found = append(found, p)
		}
	}
	return found
}

// mergePeople answers POST /people/merge: keep and other become one person. Merging
// groups names that everybody sees anyway, so admins do it for all.
func (s *server) mergePeople(w http.ResponseWriter, r *http.Request) error {
	keep, other, err := s.twoPeople(r, r.PostForm.Get("keep"), r.PostForm.Get("other"))
	if err != nil {
		return err
	}
	if _, err := s.Notes.Merge(r.Context(), personOf(r.Context()), keep, other); err != nil {
		return toNotesFailure(err)
	}
	return s.seeOther(w, r, backAddress(r, personAddress(keep)))
}

// keepPeopleApart answers POST /people/apart: keep and other are not one person.
func (s *server) keepPeopleApart(w http.ResponseWriter, r *http.Request) error {
	keep, other, err := s.twoPeople(r, r.PostForm.Get("keep"), r.PostForm.Get("other"))
	if err != nil {
		return err
	}
	if _, err := s.Notes.KeepApart(r.Context(), personOf(r.Context()), keep, other); err != nil {
		return toNotesFailure(err)
	}
	return s.seeOther(w, r, backAddress(r, "/people"))
}

// undoMerge answers POST /people/undo.
func (s *server) undoMerge(w http.ResponseWriter, r *http.Request) error {
	id, err := formNumber(r, "merge")
	if err != nil {
		return err
	}
	if err := s.Notes.Undo(r.Context(), id); err != nil {
		return toNotesFailure(err)
	}
	return s.seeOther(w, r, backAddress(r, "/people"))
}

// twoPeople returns two people by their names, addresses or keys. The visitor sees both. A
// name by which one of them became a part of a person stands for itself: it stays with the
// other when they are taken apart. Any other stands for the key.
func (s *server) twoPeople(r *http.Request, first, second string) (keep, other string, err error) {
	view, err := s.view(r.Context())
	if err != nil {
		return "", "", err
	}
	var keys, names [2]string
	for i, name := range [2]string{first, second} {
		d, err := s.findPerson(r, view, name)
		if err != nil {
			return "", "", err
		}
		keys[i], names[i] = d.Key, d.Key
		for _, part := range view.Groups.Same(d.Key) {
			if notes.Fold(part) == notes.Fold(name) {
				names[i] = part
			}
		}
	}
	if keys[0] == keys[1] {
		return "", "", &failure{http.StatusUnprocessableEntity, "They are one person already."}
	}
	return names[0], names[1], nil
}

// backAddress returns the address that a form leads back to.
func backAddress(r *http.Request, otherwise string) string {
	if back := r.PostForm.Get("back"); back != "" {
		return localPath(back)
	}
	return otherwise
}
