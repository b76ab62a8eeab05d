package web

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/web/notice"
)

// mail sends one mail of the new matches of a person's searches, if there are any.
func (n *notifier) mail(ctx context.Context, address string, queue []notes.SavedSearch) (sent bool, err error) {
	if n.s.Mail == nil {
		return false, nil // it waits until mail is configured again
	}
	found, err := n.collect(ctx, address, queue)
	if err != nil {
		return false, err
	}
	if len(found) > 0 {
		if err := notice.SendMail(ctx, n.s.Mail, address, found, strings.TrimSuffix(n.s.PageURL, "/"), n.s.Now(), n.s.Location); err != nil {
			return false, err
		}
		sent = true
	}
	ctx = context.WithoutCancel(ctx)
	for _, f := range found {
		ids := make([]int64, len(f.Matches))
		for i, m := range f.Matches {
			ids[i] = m.RecordingID
		}
		if err := n.s.Notes.SetNotified(ctx, f.Saved.ID, ids...); err != nil {
			return sent, err
		}
	}
	for _, saved := range queue {
		if err := n.s.Notes.SetSeen(ctx, saved); err != nil && !errors.Is(err, archive.ErrNotFound) {
			return sent, err
		}
	}
	return sent, nil
}

// collect returns the new matches of a person's searches, and moves Seen of each search
// behind them. It ends after half of the turn or a number of pages, so that very many
// arrivals make several mails and not none.
func (n *notifier) collect(ctx context.Context, address string, queue []notes.SavedSearch) (found []notice.Found, err error) {
	bounded, cancel := context.WithTimeout(ctx, n.bounds.turn/2)
	defer cancel()
	pages := 0
	for i := range queue {
		saved := &queue[i]
		if allowed, err := n.s.mailAddresses(ctx, saved.Person); err != nil {
			return nil, err
		} else if !slices.Contains(allowed, address) {
			return nil, cmp.Or(n.s.Notes.EndNotify(ctx, *saved), error(archive.ErrNotFound))
		}
		each := notice.Found{}
		for isMore := true; isMore && pages < n.bounds.pages; {
			before := saved.Seen
			var matches []notice.Match
			matches, isMore, err = n.nextMatches(bounded, saved)
			if err != nil && bounded.Err() != nil && pages > 0 {
				pages = n.bounds.pages // the rest comes with the next mail
				break
			}
			if err != nil {
				return nil, err
			}
			if saved.Seen != before {
				pages++
			}
			each.Matches = append(each.Matches, matches...)
		}
		if each.Matches, err = n.keepWanted(ctx, *saved, each.Matches); err != nil {
			return nil, err
		}
		if each.Saved = *saved; len(each.Matches) > 0 {
			found = append(found, each)
		}
	}
	return found, nil
}
