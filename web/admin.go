package web

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"minutebook/web/access"
)

// peopleSize is how many people the page of the people shows.
const peopleSize = 100

// auditSize is how many rows a page of the audit shows.
const auditSize = 100

// peoplePage lists the persons who may enter, for admins.
type peoplePage struct {
	frame
	People  []admittedPerson
	All     int    // how many people there are
	Filter  string // part of a name or an address; "" shows all
	More    int    // how many more the filter finds
	Link    string // of an invitation that was just made; it is shown once
	For     string // the address of the invited person
	Expires time.Time
	Notice  string
	Mails   bool // whether invitations are of use: people sign in with a password
}

// admittedPerson is a person and the facts that an admin manages them by.
type admittedPerson struct {
	access.Person
	access.SignedInState
	Own *access.Account // at the service; nil: none is connected
	Out bool            // deactivated in the service's directory
}

// auditPage shows people's recorded acts, for admins.
type auditPage struct {
	frame
	Events []auditEvent
	Person string // the address of the person whose events alone are shown
	Older  string // the address of the next page
}

type auditEvent struct {
	access.Event
	Who, About string
}

// admins lets only admins through. For others the address does not exist.
func (s *server) admins(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if !visitorOf(r.Context()).Admin {
			return s.notFound(w, r)
		}
		return h(w, r)
	}
}

func (s *server) people(w http.ResponseWriter, r *http.Request) error {
	return s.renderPeople(w, r, http.StatusOK, &peoplePage{})
}

// renderPeople renders the page with the words, and the link, that p has.
func (s *server) renderPeople(w http.ResponseWriter, r *http.Request, status int, p *peoplePage) error {
	ctx := r.Context()
	p.frame, p.Mails = s.newFrame(r, "admin-people", "People"), s.Entry.Passwords
	db := s.Entry.People
	p.Filter = strings.TrimSpace(r.URL.Query().Get("who"))
	people, found, err := db.FindPeople(ctx, p.Filter, peopleSize)
	if err != nil {
		return err
	}
	if p.All, err = db.CountPeople(ctx); err != nil {
		return err
	}
	p.More = found - len(people)
	ids := make([]int64, len(people))
	for i, person := range people {
		ids[i] = person.ID
	}
	states, err := db.SignedInStates(ctx, ids...)
	if err != nil {
		return err
	}
	out, err := db.Out(ctx, people)
	if err != nil {
		return err
	}
	for _, person := range people {
		a := admittedPerson{Person: person, SignedInState: states[person.ID], Out: out[person.ID]}
		if a.Own, err = s.ownAccountOf(ctx, person.ID); err != nil {
			return err
		}
		p.People = append(p.People, a)
	}
	return s.render(w, status, "admin-people", p)
}

// addPerson adds a person and, where people have passwords, invites them.
func (s *server) addPerson(w http.ResponseWriter, r *http.Request) error {
	form, by := r.PostForm, visitorOf(r.Context()).Actor()
	person, err := s.Entry.People.AddPerson(r.Context(), by, form.Get("address"), form.Get("name"), form.Get("admin") != "")
	if err != nil {
		return s.failChange(w, r, err)
	}
	if !s.Entry.Passwords {
		return s.seeOther(w, r, "/admin/people")
	}
	return s.showInvitation(w, r, person)
}

// showInvitation makes an invitation and shows its link once.
func (s *server) showInvitation(w http.ResponseWriter, r *http.Request, person access.Person) error {
	secret, expires, err := s.Entry.People.Invite(r.Context(), visitorOf(r.Context()).Actor(), person.ID)
	if err != nil {
		return s.failChange(w, r, err)
	}
	return s.renderPeople(w, r, http.StatusOK, &peoplePage{Link: s.Entry.PublicURL.String() + access.InvitationPath + secret, For: person.Address(), Expires: expires})
}

// changePerson answers the forms of one person.
func (s *server) changePerson(w http.ResponseWriter, r *http.Request) error {
	ctx, form, people, by := r.Context(), r.PostForm, s.Entry.People, visitorOf(r.Context()).Actor()
	id, err := strconv.ParseInt(r.PathValue("person"), 10, 64)
	if err != nil {
		return s.notFound(w, r)
	}
	person, err := people.Person(ctx, id)
	if err != nil {
		return s.failChange(w, r, err)
	}
	switch r.PathValue("change") {
	case "invite":
		if !s.Entry.Passwords { // a link would lead nowhere
			return s.notFound(w, r)
		}
		return s.showInvitation(w, r, person)
	case "grant-admin":
		err = people.SetAdmin(ctx, by, id, true)
	case "revoke-admin":
		err = people.SetAdmin(ctx, by, id, false)
	case "sign-out":
		_, err = people.EndSessions(ctx, by, id)
	case "disconnect":
		if err = people.Disconnect(ctx, by, id); errors.Is(err, access.ErrNoAccount) {
			err = nil // the person was faster
		}
	case "remove":
		err = people.RemovePerson(ctx, by, id)
	case "add-address":
		err = people.AddAddress(ctx, by, id, form.Get("address"))
	case "remove-address":
		err = people.RemoveAddress(ctx, by, id, form.Get("address"))
	default:
		return s.notFound(w, r)
	}
	if err != nil {
		return s.failChange(w, r, err)
	}
	return s.seeOther(w, r, "/admin/people")
}

// failChange shows the people with the reason why a change is refused.
func (s *server) failChange(w http.ResponseWriter, r *http.Request, err error) error {
	for _, reason := range []error{access.ErrNotFound, access.ErrExists, access.ErrAddress, access.ErrLastAdmin, access.ErrLastAddress, access.ErrOut} {
		if errors.Is(err, reason) {
			return s.renderPeople(w, r, http.StatusUnprocessableEntity, &peoplePage{Notice: sentence(reason)})
		}
	}
	return err
}

// audit answers /admin/audit?person=ADDRESS&before=SEQ. A person who was removed is
// found by the number that the rows show.
func (s *server) audit(w http.ResponseWriter, r *http.Request) error {
	ctx, q := r.Context(), r.URL.Query()
	p := &auditPage{frame: s.newFrame(r, "admin-audit", "Who did what"), Person: q.Get("person")}
	query := access.EventQuery{Limit: auditSize + 1}
	if id, err := strconv.ParseInt(p.Person, 10, 64); err == nil && id > 0 {
		query.Person = id // whom no address leads to any more
	} else if p.Person != "" {
		person, err := s.Entry.People.PersonByAddress(ctx, p.Person)
		if err != nil && !errors.Is(err, access.ErrNotFound) {
			return err
		}
		if query.Person = person.ID; err != nil {
			query.Person = -1
		}
	}
	var err error
	if before := q.Get("before"); before != "" {
		if query.Before, err = strconv.ParseInt(before, 10, 64); err != nil || query.Before < 1 {
			return &failure{http.StatusBadRequest, "The list has no such place; begin at the newest."}
		}
	}
	events, err := s.Entry.People.Events(ctx, query)
	if err != nil {
		return err
	}
	if len(events) > auditSize {
		events = events[1:]
		q.Set("before", strconv.FormatInt(events[0].Seq, 10))
		p.Older = "/admin/audit?" + q.Encode()
	}
	names := map[int64]string{}
	for i := len(events) - 1; i >= 0; i-- {
		p.Events = append(p.Events, s.newAuditEvent(r, events[i], names))
	}
	return s.render(w, http.StatusOK, "admin-audit", p)
}

// newAuditEvent adds the addresses of the persons of an event; names keeps those
// that were read.
func (s *server) newAuditEvent(r *http.Request, e access.Event, names map[int64]string) auditEvent {
	address := func(id int64) string {
		if _, ok := names[id]; !ok {
			person, err := s.Entry.People.Person(r.Context(), id)
			if names[id] = person.Address(); err != nil || names[id] == "" {
				names[id] = "person " + strconv.FormatInt(id, 10)
			}
		}
		return names[id]
	}
	v := auditEvent{Event: e, Who: string(e.Actor)}
	if id, err := strconv.ParseInt(string(e.Actor), 10, 64); err == nil {
		v.Who = address(id)
	}
	if e.IDs.Person != 0 {
		v.About = address(e.IDs.Person)
	}
	return v
}
