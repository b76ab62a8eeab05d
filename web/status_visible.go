package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/importer"
	"minutebook/internal/httpserver"
	syncer "minutebook/sync"
)

// daemonState is the part of `status --json` that the page shows.
type daemonState struct {
	syncer.Status
	Retention  *archive.RetentionHold `json:"retention,omitempty"`
	Upkeep     map[string]upkeepJSON  `json:"upkeep"`
	Disk       diskJSON               `json:"disk"`
	Activities []activityJSON         `json:"activities"`
}

// visibleState returns the daemon's state as far as the visitor may know it: all of it
// for admins, the state of their own accounts for others. It is nil without a daemon. page
// is true for the page of the status, where an admin looks at new retention rules.
func (s *server) visibleState(ctx context.Context, page bool) (*daemonState, error) {
	if s.Status == nil {
		return nil, nil
	}
	v, err := s.Status(ctx, page && visitorOf(ctx).Admin)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	state := &daemonState{}
	if err := json.Unmarshal(raw, state); err != nil {
		return nil, fmt.Errorf("read the daemon's state: %w", err)
	}
	own, err := s.ownAccounts(ctx)
	if err != nil {
		return nil, err
	}
	state.Accounts = slices.DeleteFunc(state.Accounts, func(a syncer.AccountStatus) bool { return !own(a.Name) })
	state.Failures = slices.DeleteFunc(state.Failures, func(f syncer.FailureStatus) bool { return !own(f.Account) })
	if !visitorOf(ctx).Admin {
		state.Status = syncer.Status{Accounts: state.Accounts, Failures: state.Failures}
		state.Retention, state.Upkeep, state.Disk, state.Activities = nil, nil, diskJSON{}, nil
	}
	err = s.hideMeetings(ctx, &state.Status)
	return state, err
}

// ownAccounts returns whether the state of an account is for the visitor.
func (s *server) ownAccounts(ctx context.Context) (func(account string) bool, error) {
	visitor := visitorOf(ctx)
	if visitor.Admin {
		return func(string) bool { return true }, nil
	}
	people, err := s.Archive.AccountPeople(ctx)
	return func(account string) bool {
		email := people[account]
		return email != "" && slices.ContainsFunc(visitor.Viewer.Emails, func(own string) bool { return api.FoldEmail(own) == email })
	}, err
}

// hideMeetings takes the meetings that the visitor does not see out of the failures.
func (s *server) hideMeetings(ctx context.Context, state *syncer.Status) error {
	lists := [][]syncer.FailureStatus{state.Failures}
	for _, a := range state.Accounts {
		lists = append(lists, a.Failures)
	}
	for _, list := range lists {
		for i := range list {
			if err := s.hideMeeting(ctx, list[i].Class, &list[i].RecordingID, &list[i].What, &list[i].Reason); err != nil {
				return err
			}
		}
	}
	return nil
}

// visibleFailures returns the open failures that the visitor may know of.
func (s *server) visibleFailures(ctx context.Context) ([]failureView, error) {
	all, err := s.Archive.Failures(ctx, true)
	if err != nil {
		return nil, err
	}
	own, err := s.ownAccounts(ctx)
	if err != nil {
		return nil, err
	}
	var views []failureView
	for _, f := range all {
		if !own(f.Account) {
			continue
		}
		if err := s.hideMeeting(ctx, f.Class, &f.RecordingID, &f.What, &f.Reason); err != nil {
			return nil, err
		}
		views = append(views, failureView{Failure: f})
	}
	return views, nil
}

// hideMeeting takes the meeting out of the texts of a failure, if the visitor does not see it. A
// file that is no meeting yet is the owner's alone: nobody knows who will see the meeting.
func (s *server) hideMeeting(ctx context.Context, class string, id *int64, what, reason *string) error {
	name := "a meeting"
	hidden, err := s.isHidden(ctx, *id)
	if class == importer.FailureClass && *id == 0 && !filepath.IsAbs(*what) { // not the folder itself
		name, hidden = "a file of the watched folder", !viewerOf(ctx).All
	}
	if hidden {
		*id, *what, *reason = 0, name, statusIn(*reason)
	}
	return err
}

// answered finds the status in the text of an [api.Error].
var answered = regexp.MustCompile(`: ([1-5][0-9]{2}) `)

// statusIn returns the status of the service's answer that a reason tells of. The rest of a
// reason can name the meeting, by its number, its title or its files.
func statusIn(reason string) string {
	if m := answered.FindStringSubmatch(reason); m != nil {
		code, _ := strconv.Atoi(m[1]) // digits
		if text := http.StatusText(code); text != "" {
			return "the service answered " + m[1] + " " + text
		}
	}
	return "not shown here, since it may tell of the meeting"
}

// isHidden reports whether a failure is about a meeting that the visitor does not see.
func (s *server) isHidden(ctx context.Context, id int64) (bool, error) {
	if id == 0 || viewerOf(ctx).All {
		return false, nil
	}
	visible, err := s.Archive.SeenOf(ctx, viewerOf(ctx), []int64{id})
	return len(visible) == 0, err
}

const (
	// statusInterval is how often the status is read for its events.
	statusInterval = 2 * time.Second
	// statusSilence is the longest time without a line to a reader.
	statusSilence = 15 * time.Second
	// statusStall is how long a reader may take nothing.
	statusStall = 30 * time.Second
)

// apiStatusEvents sends the status as server-sent events: at once, and again whenever it
// has changed, until the reader leaves or may not read it any more. ?events= ends it
// after so many.
func (s *server) apiStatusEvents(w http.ResponseWriter, r *http.Request) error {
	most := -1
	if text := r.URL.Query().Get("events"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return &failure{http.StatusBadRequest, "events is a number above zero"}
		}
		most = n
	}
	first, err := s.readStatus(r.Context())
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold the events back
	// the end of the request does not cut the stream: it ends with an event
	stream, end := httpserver.NewStream(context.WithoutCancel(r.Context()), w, httpserver.StreamBounds{Stall: statusStall}, nil)
	defer end()
	sent := encodeJSON(first)
	if writeEvent(stream, w, "status", sent) != nil || most == 1 {
		return nil
	}
	s.followStatus(r, stream, w, sent, most-1)
	return nil
}

// followStatus writes the status each time that it is another one. A status that cannot
// be read ends the events; the browser asks again.
func (s *server) followStatus(r *http.Request, stream *httpserver.Stream, w http.ResponseWriter, sent []byte, most int) {
	tick := time.NewTicker(statusInterval)
	defer tick.Stop()
	for quiet := time.Duration(0); most != 0; {
		select {
		case <-r.Context().Done():
			_ = writeEvent(stream, w, "end", []byte("{}\n")) // the reader may have gone
			return
		case <-tick.C:
		}
		v, err := s.identifyAgain(r) // the session may have ended
		if err != nil {
			return
		}
		now, err := s.readStatus(context.WithValue(r.Context(), visitorKey{}, v))
		if err != nil {
			return
		}
		data := encodeJSON(now)
		if quiet += statusInterval; bytes.Equal(data, sent) {
			if quiet < statusSilence {
				continue
			}
			if _, err := stream.Write([]byte(":\n\n")); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			quiet = 0
			continue
		}
		if writeEvent(stream, w, "status", data) != nil {
			return
		}
		sent, quiet = data, 0
		most--
	}
}

// writeEvent writes an event with JSON that ends in a line break, and sends it off.
func writeEvent(stream *httpserver.Stream, w http.ResponseWriter, name string, data []byte) error {
	if _, err := fmt.Fprintf(stream, "event: %s\ndata: %s\n", name, data); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}
