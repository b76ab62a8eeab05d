package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/internal/outbound"
	"minutebook/search"
	"minutebook/search/query"
	"minutebook/web/access"
	"minutebook/web/notice"
)

// savedPage lists the visitor's saved searches. The address of a feed and the secret of
// notifications are shown once, when they are made.
type savedPage struct {
	frame
	Searches []notes.SavedSearch
	Feed     string // the address of a feed that was just made
	Secret   string // of notifications that were just asked for
	For      string // the name of the search that they are of
	Notice   string
	Mails    []string // the visitor's own addresses, to which e-mail can go
	IsMute   bool     // the archive sends no e-mail
}

// saved answers GET /saved.
func (s *server) saved(w http.ResponseWriter, r *http.Request) error {
	return s.renderSaved(w, r, http.StatusOK, savedPage{})
}

func (s *server) renderSaved(w http.ResponseWriter, r *http.Request, status int, p savedPage) error {
	var err error
	p.frame, p.IsMute = s.newFrame(r, "saved", "Saved searches"), s.Mail == nil
	if p.Searches, err = s.Notes.Saved(r.Context(), personOf(r.Context())); err != nil {
		return err
	}
	if p.Mails, err = s.mailAddresses(r.Context(), personOf(r.Context())); err != nil {
		return err
	}
	return s.render(w, status, "saved", p)
}

// saveSearch answers POST /saved: name, query.
func (s *server) saveSearch(w http.ResponseWriter, r *http.Request) error {
	text := r.PostForm.Get("query")
	if _, err := s.save(r.Context(), cmp.Or(r.PostForm.Get("name"), text), text); err != nil {
		return s.refuseSaved(w, r, err)
	}
	return s.seeOther(w, r, "/saved")
}

// save keeps a search of the visitor.
func (s *server) save(ctx context.Context, name, text string) (notes.SavedSearch, error) {
	if err := checkQuery(text); err != nil {
		return notes.SavedSearch{}, err
	}
	saved, err := s.Notes.Save(ctx, personOf(ctx), name, text)
	return saved, toNotesFailure(err)
}

// checkQuery fails for a query that cannot be read.
func checkQuery(text string) error {
	if _, err := query.Parse(text); err != nil {
		return errors.Join(&failure{http.StatusUnprocessableEntity, sentence(err)}, err)
	}
	return nil
}

// refuseSaved shows the mistake in a form about saved searches.
func (s *server) refuseSaved(w http.ResponseWriter, r *http.Request, err error) error {
	if f, ok := errors.AsType[*failure](err); ok && f.status == http.StatusUnprocessableEntity {
		return s.renderSaved(w, r, f.status, savedPage{Notice: f.message})
	}
	return err
}

// changeSaved answers POST /saved/{id}/{change}.
func (s *server) changeSaved(w http.ResponseWriter, r *http.Request) error {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return s.notFound(w, r)
	}
	change, q := r.PathValue("change"), savedRequest{r.PostForm.Get("name"), r.PostForm.Get("query"), r.PostForm.Get("address"), parseState(r.PostForm.Get("seen"))}
	p, wrote := savedPage{For: q.Name}, ""
	p.Feed, p.Secret, err = s.changeOfSaved(r, id, change, q)
	if change == "rename" {
		wrote = " You wrote: “" + notes.SavedSearch{Name: strings.TrimSpace(q.Name), Query: strings.TrimSpace(q.Query)}.State() + "”."
	}
	switch {
	case errors.Is(err, notes.ErrChanged):
		return s.renderSaved(w, r, http.StatusConflict, savedPage{Notice: "The search was changed in another window meanwhile, or the same form was sent twice. It is shown as it is now." + wrote})
	case errors.Is(err, archive.ErrNotFound) && wrote != "":
		return s.renderSaved(w, r, http.StatusConflict, savedPage{Notice: "The search was deleted in another window meanwhile." + wrote})
	case err != nil:
		return s.refuseSaved(w, r, toNotesFailure(err))
	case p.Feed != "" || p.Secret != "":
		return s.renderSaved(w, r, http.StatusOK, p)
	}
	return s.seeOther(w, r, "/saved")
}

// changeOfSaved makes a change of the visitor's saved search as it was seen. It returns the
// address of a feed, or the secret of webhooks, that it made.
func (s *server) changeOfSaved(r *http.Request, id int64, change string, q savedRequest) (feed, secret string, err error) {
	ctx, person := r.Context(), personOf(r.Context())
	switch change {
	case "rename":
		if err = checkQuery(q.Query); err == nil {
			err = s.Notes.ChangeSaved(ctx, person, id, q.Name, q.Query, q.ChangedAt)
		}
	case "delete":
		err = s.Notes.DeleteSaved(ctx, person, id, q.ChangedAt)
	case "feed":
		if feed, err = s.Notes.MakeFeed(ctx, person, id, q.ChangedAt); err == nil {
			feed = s.publicAddress(r) + "/feeds/" + feed
		}
	case "end-feed":
		err = s.Notes.EndFeed(ctx, person, id, q.ChangedAt)
	case "notify":
		secret, err = s.setNotify(ctx, id, q)
	default:
		err = &failure{http.StatusNotFound, "A saved search has no such change."}
	}
	return feed, secret, err
}

// setNotify has new matches of the visitor's saved search notified at an address: see
// [notes.DB.SetNotify]. E-mail goes to the visitor's own addresses alone, and webhooks to
// addresses that are not of a private network.
func (s *server) setNotify(ctx context.Context, id int64, q savedRequest) (secret string, err error) {
	person, address := personOf(ctx), q.Address
	if to, ok := strings.CutPrefix(address, "mailto:"); ok {
		own, err := s.mailAddresses(ctx, person)
		if err != nil {
			return "", err
		}
		if !slices.Contains(own, to) {
			return "", &failure{http.StatusUnprocessableEntity, "E-mail goes to an address of your own, and only where the archive is set up to send it."}
		}
	} else if err := outbound.CheckURL(address, s.NotifyClient != nil); address != "" && err != nil {
		return "", &failure{http.StatusUnprocessableEntity, "The address for notifications " + err.Error() + "."}
	}
	return s.Notes.SetNotify(ctx, person, id, address, q.ChangedAt)
}

// mailAddresses returns the addresses to which a person may have e-mail sent.
func (s *server) mailAddresses(ctx context.Context, person int64) ([]string, error) {
	switch {
	case s.Mail == nil:
		return nil, nil
	case person == notes.Owner:
		return s.MailOwner, nil
	}
	p, err := s.Entry.People.Person(ctx, person)
	return p.Addresses, err
}

// publicAddress returns the address of the page as the browser of a request knows it,
// with the base path.
func (s *server) publicAddress(r *http.Request) string {
	if s.Entry.PublicURL != nil {
		return s.Entry.PublicURL.String()
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// feedSize is how many meetings a feed has at most, the newest.
const feedSize = 50

// atomFeed is an Atom feed (RFC 4287).
type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Author  atomAuthor  `xml:"author"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

type atomAuthor struct {
	Name string `xml:"name"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Link    atomLink `xml:"link"`
	Summary string   `xml:"summary,omitempty"`
}

// feed answers GET /feeds/{secret} with the newest meetings that a saved search finds for
// its owner. The secret opens this feed alone. Whatever is wrong, it is answered as one
// that never existed; the secret is in no log.
func (s *server) feed(w http.ResponseWriter, r *http.Request) {
	secret := r.PathValue("secret")
	f, err := s.newFeed(r, secret)
	switch {
	case errors.Is(err, archive.ErrNotFound), errors.Is(err, access.ErrNotFound), errors.Is(err, access.ErrOut):
		http.Error(w, "There is no such feed.", http.StatusNotFound)
		return
	case err != nil:
		s.Logger.Error().Err(err).Msg("answer a feed")
		http.Error(w, "Something went wrong here; the log says what.", http.StatusInternalServerError)
		return
	}
	body, err := xml.MarshalIndent(f, "", " ")
	if err != nil {
		s.Logger.Error().Err(err).Msg("write a feed")
		http.Error(w, "Something went wrong here; the log says what.", http.StatusInternalServerError)
		return
	}
	writeTagged(w, r, "application/atom+xml; charset=utf-8", append([]byte(xml.Header), body...))
}

// newFeed reads the feed with a secret.
func (s *server) newFeed(r *http.Request, secret string) (*atomFeed, error) {
	if s.isPastProxy(r) {
		return nil, archive.ErrNotFound
	}
	saved, err := s.Notes.ByFeed(r.Context(), secret)
	if err != nil {
		return nil, err
	}
	hits, err := s.findSaved(r.Context(), saved)
	if err != nil {
		return nil, err
	}
	sum, at := sha256.Sum256([]byte(secret)), s.publicAddress(r)
	f := &atomFeed{ID: "urn:minutebook:feed:" + hex.EncodeToString(sum[:16]), Title: saved.Name, Updated: saved.CreatedAt.UTC().Format(time.RFC3339),
		Author: atomAuthor{"Minutebook"}, Links: []atomLink{{"alternate", at + resultsAddress(saved.Query)}, {"self", at + "/feeds/" + secret}}}
	for _, h := range hits {
		e := atomEntry{Title: meetingTitle(h.Row), Updated: h.Row.Key().Start.UTC().Format(time.RFC3339), Summary: h.Why}
		e.ID = "urn:minutebook:meeting:" + strconv.FormatInt(h.Row.RecordingID, 10) // under whatever name the page is asked
		e.Link = atomLink{"alternate", at + meetingAddress(h.Row.RecordingID, -1, -1, saved.Query)}
		if len(h.Moments) > 0 {
			m := h.Moments[0]
			e.Summary = m.Text
			if m.Speaker != "" {
				e.Summary = m.Speaker + ": " + m.Text
			}
			e.Link.Href = at + meetingAddress(h.Row.RecordingID, m.Offset, m.Entry, saved.Query)
		}
		f.Updated = max(f.Updated, e.Updated)
		f.Entries = append(f.Entries, e)
	}
	return f, nil
}

// withoutVisitor makes a handler of h that asks nobody to sign in.
func (s *server) withoutVisitor(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := error(errForbidden)
		if !s.isPastProxy(r) {
			err = h(w, r)
		}
		if err != nil {
			s.failPage(w, r, err)
		}
	})
}

// unsubscribePage ends the mails of saved searches.
type unsubscribePage struct {
	frame
	Address string
	Ended   bool
}

// unsubscribe answers the link in a mail: GET asks, and POST, which mail programs send by
// themselves (RFC 8058), ends the mails of all saved searches of the person to the address.
func (s *server) unsubscribe(w http.ResponseWriter, r *http.Request) error {
	token := r.PathValue("token")
	saved, err := s.Notes.ByNotify(r.Context(), notice.UnsubscribeSearch(token))
	if err == nil && !notice.EndsMails(token, saved) {
		err = archive.ErrNotFound
	}
	if err == nil && r.Method == http.MethodPost {
		err = s.Notes.EndNotifyAll(r.Context(), saved)
	}
	if errors.Is(err, archive.ErrNotFound) {
		return &failure{http.StatusNotFound, "This link ends no mails any more. If they still come, the link in the newest one ends them."}
	}
	if err != nil {
		return err
	}
	return s.render(w, http.StatusOK, "unsubscribe", unsubscribePage{s.newFrame(r, "unsubscribe", "Mails of new meetings"),
		strings.TrimPrefix(saved.Notify, "mailto:"), r.Method == http.MethodPost})
}

// findSaved finds the newest meetings of a saved search that its owner sees now. It fails
// as viewerOfPerson does when the owner may not enter any more.
func (s *server) findSaved(ctx context.Context, saved notes.SavedSearch) ([]search.Hit, error) {
	viewer, err := s.viewerOfPerson(ctx, saved.Person)
	if err != nil {
		return nil, err
	}
	if _, err := query.Parse(saved.Query); err != nil {
		return nil, nil //nolint:nilerr // the query language has changed: nothing is found
	}
	request := s.searchRequestOf(ctx, viewer, saved.Person, saved.Query)
	request.Sort, request.Limit, request.Moments, request.Whole = query.SortDate, feedSize, 1, true
	answer, err := s.Index.Search(ctx, request)
	if err != nil {
		return nil, err
	}
	return answer.Meetings, nil
}
