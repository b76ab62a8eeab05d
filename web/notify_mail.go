package web

import (
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
	found, err := n.collect(ctx, queue)
	if err != nil {
		return false, err
	}
	return n.sendMail(ctx, address, queue, found)
}

// sendMail sends a mail of those matches that the person sees at this moment, since collecting
// them may have taken long, and moves the searches behind all of them.
func (n *notifier) sendMail(ctx context.Context, address string, queue []notes.SavedSearch, found []notice.Found) (sent bool, err error) {
	if allowed, err := n.s.mailAddresses(ctx, queue[0].Person); err != nil {
		return false, err
	} else if !slices.Contains(allowed, address) {
		return false, n.endMails(ctx, queue)
	}
	var wanted []notice.Found
	for _, f := range found {
		if f.Matches, err = n.keepWanted(ctx, f.Saved, f.Matches); err != nil {
			return false, err
		}
		if len(f.Matches) > 0 {
			wanted = append(wanted, f)
		}
	}
	if len(wanted) > 0 {
		if err := notice.SendMail(ctx, n.s.Mail, address, wanted, strings.TrimSuffix(n.s.PageURL, "/"), n.s.Now(), n.s.Location); err != nil {
			return false, err
		}
		sent = true
	}
	ctx = context.WithoutCancel(ctx)
	for _, f := range wanted {
		err = errors.Join(err, n.noteAccepted(ctx, f.Saved.ID, recordingIDs(f.Matches)...))
	}
	if err != nil {
		return sent, err
	}
	for _, saved := range queue {
		if err := n.s.Notes.SetSeen(ctx, saved); err != nil && !errors.Is(err, archive.ErrNotFound) {
			return sent, err
		}
	}
	return sent, nil
}

// endMails ends the mails of saved searches to an address that is not the person's any more.
func (n *notifier) endMails(ctx context.Context, queue []notes.SavedSearch) error {
	for _, saved := range queue {
		if err := n.s.Notes.EndNotify(ctx, saved); err != nil && !errors.Is(err, archive.ErrNotFound) {
			return err
		}
	}
	return archive.ErrNotFound
}

func recordingIDs(matches []notice.Match) (ids []int64) {
	for _, m := range matches {
		ids = append(ids, m.RecordingID)
	}
	return ids
}

// collect returns the new matches of a person's searches, and moves Seen of each search
// behind them. It ends after half of the turn or a number of pages, so that very many
// arrivals make several mails and not none.
func (n *notifier) collect(ctx context.Context, queue []notes.SavedSearch) (found []notice.Found, err error) {
	bounded, cancel := context.WithTimeout(ctx, n.bounds.turn/2)
	defer cancel()
	pages := 0
	for i := range queue {
		saved := &queue[i]
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
		if each.Saved = *saved; len(each.Matches) > 0 {
			found = append(found, each)
		}
	}
	return found, nil
}
