package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/archive/roster"
	"minutebook/internal/outbound"
	"minutebook/search"
	"minutebook/search/query"
	"minutebook/web/access"
)

// Bounds of notifications.
const (
	notifyTimeout = 20 * time.Second // of one request
	notifyRetry   = time.Minute      // after the first failure; it doubles up to an hour
	notifyLongest = time.Hour
	maxNotified   = 200 // meetings in one look
)

// notifier tells the addresses of saved searches of new meetings that match. A
// notification may come twice, with the same webhook-id: after a restart, a meeting that
// changes is told of again. One goroutine uses it.
type notifier struct {
	s      *server
	client *http.Client
	told   map[string]bool // webhook-ids since the start
	fails  map[int64]failed
}

// failed is a saved search whose address does not answer.
type failed struct {
	times int
	next  time.Time
}

func (s *server) newNotifier() *notifier {
	client := s.NotifyClient
	if client == nil {
		client = outbound.NewClient(outbound.Options{Timeout: notifyTimeout, FreshConns: true})
	}
	return &notifier{s: s, client: client, told: map[string]bool{}, fails: map[int64]failed{}}
}

// look tells of the matches that are new since the last look. A search whose address
// fails keeps its place, and the others go on.
func (n *notifier) look(ctx context.Context) error {
	all, err := n.s.Notes.Notified(ctx)
	if err != nil {
		return err
	}
	for _, saved := range all {
		if n.s.Now().Before(n.fails[saved.ID].next) {
			continue
		}
		err := n.notify(ctx, saved)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, archive.ErrNotFound), errors.Is(err, access.ErrNotFound), errors.Is(err, access.ErrOut):
			continue // it was deleted, or its owner may not enter
		case err != nil:
			f := n.fails[saved.ID]
			f.times++
			f.next = n.s.Now().Add(min(notifyRetry<<min(f.times-1, 10), notifyLongest))
			n.fails[saved.ID] = f
			n.s.Logger.Warn().Err(err).Int64("saved_search", saved.ID).Time("next", f.next).Msg("notify of new matches")
		default:
			delete(n.fails, saved.ID)
		}
	}
	return nil
}

// notify tells of the new matches of one saved search, the earliest first.
func (n *notifier) notify(ctx context.Context, saved notes.SavedSearch) error {
	s := n.s
	viewer, err := s.viewerOfPerson(ctx, saved.Person)
	if err != nil {
		return err
	}
	ids, until, err := n.arrived(ctx, viewer, saved)
	if err != nil || len(ids) == 0 {
		return err
	}
	if reached := s.Index.Progress().Position; reached.Epoch != until.Epoch || reached.Seq < until.Seq {
		return nil // the index does not know them yet
	}
	hits, err := n.match(ctx, viewer, saved, ids)
	if err != nil {
		return err
	}
	for i := len(hits) - 1; i >= 0; i-- {
		if err := n.send(ctx, saved, hits[i]); err != nil {
			return err
		}
	}
	return s.Notes.SetSeen(ctx, saved.ID, until)
}

// arrived returns the meetings that arrived after a search was saved and changed after
// the last look, and the position up to which this is so.
func (n *notifier) arrived(ctx context.Context, viewer archive.Viewer, saved notes.SavedSearch) ([]int64, archive.Position, error) {
	since, err := n.s.Archive.PositionAt(ctx, saved.CreatedAt)
	if err != nil {
		return nil, since, err
	}
	groups, err := n.s.Notes.Groups(ctx)
	if err != nil {
		return nil, since, err
	}
	news, _, until, err := n.s.Roster.News(ctx, roster.View{Viewer: viewer, Groups: groups}, since, maxNotified)
	if err != nil {
		return nil, until, err
	}
	var ids []int64
	for _, one := range news {
		if one.IsNew && (one.Last > saved.Seen.Seq || saved.Seen.Epoch != until.Epoch) {
			ids = append(ids, one.RecordingID)
		}
	}
	return ids, until, nil
}

// match returns those of the meetings that a saved search finds, newest first.
func (n *notifier) match(ctx context.Context, viewer archive.Viewer, saved notes.SavedSearch, ids []int64) ([]search.Hit, error) {
	q, err := query.Parse(saved.Query)
	if err != nil || len(ids) == 0 {
		return nil, nil //nolint:nilerr // the query language has changed: nothing is found
	}
	var hits []search.Hit
	for _, id := range ids {
		text := strings.TrimSpace(q.Root.String())
		if text != "" {
			text = "(" + text + ") "
		}
		request := n.s.searchRequestOf(ctx, viewer, saved.Person, fmt.Sprintf("%sid:%d", text, id))
		request.Limit, request.Moments = 1, 1
		answer, err := n.s.Index.Search(ctx, request)
		if err != nil {
			return nil, err
		}
		if answer.Relaxed == "" { // a loosened query is for people who see that it was
			hits = append(hits, answer.Meetings...)
		}
	}
	return hits, nil
}

// notificationJSON is the body of a notification.
type notificationJSON struct {
	Type      string           `json:"type"`
	Timestamp string           `json:"timestamp"`
	Data      notificationData `json:"data"`
}

type notificationData struct {
	SavedSearch int64    `json:"saved_search_id"`
	Name        string   `json:"name"`
	Query       string   `json:"query"`
	RecordingID int64    `json:"recording_id"`
	Title       string   `json:"title"`
	Start       api.Time `json:"recording_start_time"`
	Speaker     string   `json:"speaker,omitempty"`
	Text        string   `json:"text,omitempty"`
	URL         string   `json:"url,omitempty"`
}

// send sends one notification, signed as Standard Webhooks describe. An address that is
// gone (410) is told no more.
func (n *notifier) send(ctx context.Context, saved notes.SavedSearch, h search.Hit) error {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %d", saved.ID, saved.CreatedAt.UnixMilli(), h.Row.RecordingID))
	id := "msg_" + hex.EncodeToString(sum[:16])
	if n.told[id] || strings.HasPrefix(saved.Notify, "mailto:") {
		return nil
	}
	now := n.s.Now()
	data := notificationData{SavedSearch: saved.ID, Name: saved.Name, Query: saved.Query, RecordingID: h.Row.RecordingID,
		Title: meetingTitle(h.Row), Start: api.TimeOf(h.Row.Key().Start)}
	at, entry := time.Duration(-1), -1
	if len(h.Moments) > 0 {
		data.Speaker, data.Text, at, entry = h.Moments[0].Speaker, h.Moments[0].Text, h.Moments[0].Offset, h.Moments[0].Entry
	}
	if n.s.PageURL != "" {
		data.URL = strings.TrimSuffix(n.s.PageURL, "/") + meetingAddress(h.Row.RecordingID, at, entry, saved.Query)
	}
	body := encodeJSON(notificationJSON{"saved_search.matched", now.UTC().Format(time.RFC3339), data})
	hook, err := standardwebhooks.NewWebhook(saved.Secret)
	if err != nil {
		return fmt.Errorf("read the secret of a saved search: %w", err)
	}
	signature, err := hook.Sign(id, now, body)
	if err != nil {
		return fmt.Errorf("sign a notification: %w", err)
	}
	status, err := n.post(ctx, saved.Notify, body, http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {fmt.Sprint(now.Unix())}, "Webhook-Signature": {signature}})
	switch {
	case err != nil:
		return err
	case status == http.StatusGone:
		_, err := n.s.Notes.SetNotify(ctx, saved.Person, saved.ID, "")
		return cmp.Or(err, error(archive.ErrNotFound))
	case status/100 != 2:
		return fmt.Errorf("notify: the address answered %d", status)
	}
	n.told[id] = true
	return nil
}

// post sends a body and returns the status of the answer. Its errors do not name the
// address, which may hold a secret.
func (n *notifier) post(ctx context.Context, address string, body []byte, header http.Header) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("notify: the address cannot be read")
	}
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", "Minutebook")
	req.Header = header
	resp, err := n.client.Do(req)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return 0, fmt.Errorf("notify: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // whatever it says
	return resp.StatusCode, nil
}
