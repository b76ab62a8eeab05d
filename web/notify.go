package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/archive/roster"
	"minutebook/internal/civil"
	"minutebook/internal/guard"
	"minutebook/search"
	"minutebook/search/query"
	"minutebook/web/access"
	"minutebook/web/notice"
)

// notifyBounds are the bounds of notifications.
type notifyBounds struct {
	look  time.Duration // of one look at all searches
	turn  time.Duration // of one address within a look
	turns int           // addresses at the same time
	page  int           // meetings that are matched together
	pages int           // pages of one mail
	mails time.Duration // between two mails to an address
	retry time.Duration // after the first failure; it doubles up to most
	most  time.Duration
}

var usualNotifyBounds = notifyBounds{look: time.Minute, turn: 30 * time.Second, turns: 8, page: 200, pages: 10,
	mails: 15 * time.Minute, retry: time.Minute, most: time.Hour}

// notifier tells the addresses of saved searches of new meetings that match. Every address
// has its own turn, so that a slow one holds up no other. A meeting is notified once for
// each search. It comes twice, with the same id, only when the process ended between the
// address's answer and its being noted. One goroutine calls look.
type notifier struct {
	s      *server
	hooks  *notice.Hooks
	bounds notifyBounds
	turns  map[recipient]time.Time // when the last turn began

	mu     sync.Mutex // guards the following
	fails  map[int64]failed
	mailed map[recipient]time.Time
	// unnoted are the accepted meetings, by saved search, that notes.db has not taken, as on a full disk.
	unnoted map[int64][]int64
}

// recipient is an address that a person gave.
type recipient struct {
	person  int64
	address string
}

// failed is a saved search whose address does not answer.
type failed struct {
	times int
	next  time.Time
}

func (s *server) newNotifier() *notifier {
	return &notifier{s: s, hooks: notice.NewHooks(s.NotifyClient), bounds: usualNotifyBounds,
		turns: map[recipient]time.Time{}, fails: map[int64]failed{}, mailed: map[recipient]time.Time{}, unnoted: map[int64][]int64{}}
}

// look gives every address a turn, those first that waited longest. A look that takes too
// long ends, and the next one goes on from there.
func (n *notifier) look(ctx context.Context) error {
	queues, err := n.listQueues(ctx)
	if err != nil {
		return err
	}
	var order []recipient
	for to := range queues {
		order = append(order, to)
	}
	slices.SortFunc(order, func(a, b recipient) int {
		return cmp.Or(n.turns[a].Compare(n.turns[b]), cmp.Compare(queues[a][0].ID, queues[b][0].ID))
	})
	bounded, cancel := context.WithTimeout(ctx, n.bounds.look)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(n.bounds.turns)
	for _, to := range order {
		if bounded.Err() != nil {
			break
		}
		n.turns[to] = n.s.Now()
		g.Go(func() error {
			turn, cancel := context.WithTimeout(bounded, n.bounds.turn)
			defer cancel()
			n.takeTurn(turn, to, queues[to])
			return nil
		})
	}
	_ = g.Wait()
	return ctx.Err()
}

// listQueues returns the saved searches whose turn has come, by recipient. It drops the
// state of those that are no more.
func (n *notifier) listQueues(ctx context.Context) (map[recipient][]notes.SavedSearch, error) {
	all, err := n.s.Notes.SavedWithNotify(ctx)
	if err != nil {
		return nil, err
	}
	queues, turns, fails := map[recipient][]notes.SavedSearch{}, map[recipient]time.Time{}, map[int64]failed{}
	now := n.s.Now()
	for _, saved := range all {
		to := recipient{saved.Person, saved.Notify}
		turns[to], fails[saved.ID] = n.turns[to], n.fails[saved.ID]
		isMail := strings.HasPrefix(saved.Notify, "mailto:")
		if waits(fails[saved.ID].next, now, n.bounds.most) || isMail && waits(n.mailed[to].Add(n.bounds.mails), now, n.bounds.mails) {
			continue
		}
		queues[to] = append(queues[to], saved)
	}
	n.turns, n.fails = turns, fails
	maps.DeleteFunc(n.unnoted, func(search int64, _ []int64) bool { _, isThere := fails[search]; return !isThere })
	return queues, nil
}

// waits reports whether a time is still to come. One that is further away than the longest pause was
// set by a clock that was ahead.
func waits(at, now time.Time, longest time.Duration) bool {
	left := at.Sub(now)
	return left > 0 && left <= longest
}

// takeTurn tells an address of the new matches of its searches. A panic fails the search, or
// the mail, alone.
func (n *notifier) takeTurn(ctx context.Context, to recipient, queue []notes.SavedSearch) {
	if address, ok := strings.CutPrefix(to.address, "mailto:"); ok {
		var sent bool
		err := guard.Run(n.s.Logger, "mail of new matches", func() (err error) {
			sent, err = n.mail(ctx, address, queue)
			return err
		})
		for _, saved := range queue {
			n.noteResult(ctx, saved, sent, err)
		}
		if sent {
			n.mu.Lock()
			n.mailed[to] = n.s.Now()
			n.mu.Unlock()
		}
		return
	}
	for _, saved := range queue {
		if ctx.Err() != nil {
			return
		}
		var progress bool
		err := guard.Run(n.s.Logger, "notification of new matches", func() (err error) {
			progress, err = n.notify(ctx, saved)
			return err
		})
		n.noteResult(ctx, saved, progress, err)
	}
}

// noteResult notes how a turn of a saved search ended, and whether it brought the search
// forward.
func (n *notifier) noteResult(ctx context.Context, saved notes.SavedSearch, progress bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case errors.Is(err, archive.ErrNotFound), errors.Is(err, access.ErrNotFound), errors.Is(err, access.ErrOut):
		// it was deleted or changed, or its owner may not enter
	case errors.Is(ctx.Err(), context.Canceled), ctx.Err() != nil && progress:
		// the rest comes with the next look
	case err != nil:
		f := n.fails[saved.ID]
		f.times++
		f.next = n.s.Now().Add(min(n.bounds.retry<<min(f.times-1, 10), n.bounds.most))
		n.fails[saved.ID] = f
		n.s.Logger.Warn().Err(err).Int64("saved_search", saved.ID).Time("next", f.next).Msg("notify of new matches")
	default:
		delete(n.fails, saved.ID)
	}
}

// notify sends webhooks of the new matches of a saved search, the earliest first. It
// reports whether a match was accepted or a page of meetings is done.
func (n *notifier) notify(ctx context.Context, saved notes.SavedSearch) (progress bool, err error) {
	for isMore := true; isMore; {
		var matches []notice.Match
		if matches, isMore, err = n.nextMatches(ctx, &saved); err != nil {
			return progress, err
		}
		for i, m := range matches {
			still, err := n.keepWanted(ctx, saved, matches[i:i+1]) // the ones before may have taken long
			if err != nil {
				return progress, err
			}
			if len(still) == 0 {
				continue
			}
			err = n.hooks.Send(ctx, saved, m, n.s.Now())
			if errors.Is(err, notice.ErrGone) {
				return progress, cmp.Or(n.s.Notes.EndNotify(ctx, saved), error(archive.ErrNotFound))
			}
			if err != nil {
				return progress, err
			}
			progress = true
			if err := n.noteAccepted(ctx, saved.ID, m.RecordingID); err != nil {
				return progress, err
			}
		}
		if err := n.s.Notes.SetSeen(ctx, saved); err != nil {
			return progress, err
		}
		progress = true
	}
	return progress, nil
}

// noteAccepted notes that the address of a saved search has accepted meetings, and those that could not
// be noted before, also when the turn ends now.
func (n *notifier) noteAccepted(ctx context.Context, search int64, ids ...int64) error {
	n.mu.Lock()
	ids = append(n.unnoted[search], ids...)
	n.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	err := n.s.Notes.SetNotified(context.WithoutCancel(ctx), search, ids...)
	n.mu.Lock()
	defer n.mu.Unlock()
	if err == nil || errors.Is(err, archive.ErrNotFound) {
		delete(n.unnoted, search)
	} else {
		n.unnoted[search] = ids
	}
	return err
}

// keepWanted returns those of the matches that the search's person sees at this moment. It
// fails when the person may not enter any more, and with [archive.ErrNotFound] when they
// have deleted or changed the search meanwhile.
func (n *notifier) keepWanted(ctx context.Context, saved notes.SavedSearch, matches []notice.Match) (wanted []notice.Match, err error) {
	viewer, err := n.s.viewerOfPerson(ctx, saved.Person)
	if err != nil {
		return nil, err
	}
	current, err := n.s.Notes.SavedByID(ctx, saved.Person, saved.ID)
	if err != nil {
		return nil, err
	}
	if current.Notify != saved.Notify || current.Query != saved.Query {
		return nil, fmt.Errorf("notify of a search that was changed: %w", archive.ErrNotFound)
	}
	seen, err := n.s.Archive.SeenOf(ctx, viewer, recordingIDs(matches))
	if err != nil {
		return nil, err
	}
	for _, m := range matches {
		if seen[m.RecordingID] {
			wanted = append(wanted, m)
		}
	}
	return wanted, nil
}

// nextMatches returns the next new matches of a saved search, the earliest first, and
// whether there may be more after them. It moves saved.Seen behind them, and makes saved.Since one
// of the present epoch.
func (n *notifier) nextMatches(ctx context.Context, saved *notes.SavedSearch) (matches []notice.Match, isMore bool, err error) {
	s := n.s
	if err := n.noteAccepted(ctx, saved.ID); err != nil {
		return nil, false, err // they would be notified again
	}
	viewer, err := s.viewerOfPerson(ctx, saved.Person)
	if err != nil {
		return nil, false, err
	}
	if saved.Since == (archive.Position{}) {
		saved.Since, err = s.Archive.PositionAt(ctx, saved.CreatedAt)
	} else {
		saved.Since, err = s.Archive.TranslatePosition(ctx, saved.Since)
	}
	if err != nil {
		return nil, false, err
	}
	if saved.Seen, err = s.Archive.TranslatePosition(ctx, saved.Seen); err != nil { // after a restore
		return nil, false, err
	}
	groups, err := s.Notes.Groups(ctx)
	if err != nil {
		return nil, false, err
	}
	until, whole := s.Index.Reached(viewer)
	if !whole {
		return nil, false, nil // meetings that the index lacks would be passed over
	}
	ids, reached, err := s.Roster.Arrivals(ctx, roster.View{Viewer: viewer, Groups: groups}, saved.Since, saved.Seen, until, n.bounds.page)
	if err != nil || len(ids) == 0 {
		return nil, false, err
	}
	notified, err := s.Notes.Notified(ctx, saved.ID, ids)
	if err != nil {
		return nil, false, err
	}
	isMore = len(ids) == n.bounds.page
	ids = slices.DeleteFunc(ids, func(id int64) bool { return notified[id] })
	if matches, err = n.match(ctx, viewer, *saved, ids); err == nil {
		saved.Seen = reached
	}
	return matches, isMore, err
}

// match returns those of the meetings that a saved search finds.
func (n *notifier) match(ctx context.Context, viewer archive.Viewer, saved notes.SavedSearch, ids []int64) (matches []notice.Match, err error) {
	if _, err := query.Parse(saved.Query); err != nil || len(ids) == 0 {
		return nil, nil //nolint:nilerr // the query language has changed: nothing is found
	}
	for _, id := range ids {
		request := n.s.searchRequestOf(ctx, viewer, saved.Person, saved.Query)
		request.Within, request.Limit, request.Moments, request.Whole = id, 1, 1, true
		answer, err := n.s.Index.Search(ctx, request)
		if err != nil {
			return nil, err
		}
		switch {
		case len(answer.Meetings) > 0:
			matches = append(matches, n.newMatch(saved, answer.Meetings[0]))
		case !answer.Exact:
			return nil, fmt.Errorf("look for a saved search in meeting %d: not all of it was read", id) // it is asked again
		}
	}
	return matches, nil
}

// newMatch returns a hit as the notification shows it.
func (n *notifier) newMatch(saved notes.SavedSearch, h search.Hit) notice.Match {
	m := notice.Match{RecordingID: h.Row.RecordingID, Title: meetingTitle(h.Row)}
	if start := h.Row.Key().Start; civil.IsKnown(start) {
		m.Start = api.TimeOf(start)
	}
	at, entry := time.Duration(-1), -1
	if len(h.Moments) > 0 {
		m.Speaker, m.Text, at, entry = h.Moments[0].Speaker, h.Moments[0].Text, h.Moments[0].Offset, h.Moments[0].Entry
	}
	if n.s.PageURL != "" {
		m.URL = strings.TrimSuffix(n.s.PageURL, "/") + meetingAddress(h.Row.RecordingID, at, entry, saved.Query)
	}
	return m
}
