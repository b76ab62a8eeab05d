package control

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"minutebook/archive"
	"minutebook/archive/roster"
	"minutebook/internal/notify"
	"minutebook/internal/phrase"
)

// Digests sends lists of new meetings and open action items, by schedule. One goroutine
// uses it, as long as the program runs: it remembers the states that the archive did not take.
type Digests struct {
	Deps     Deps
	Roster   *roster.Roster
	Schedule cron.Schedule
	Readers  []DigestReader
	// Failed are the readers whose channel failed, with the time of the next try. It is
	// not nil.
	Failed map[string]time.Time

	unkept map[string]digested // the states that the archive did not take, as on a full disk; nil: it has them
}

// DigestReader is one who gets digests.
type DigestReader struct {
	Channel notify.Channel
	Viewer  archive.Viewer
	Person  string   // the main address of the person whose action items are meant; "" for all
	Aliases []string // the person's addresses
	// Counts leaves out titles and texts, for a channel that others than the owner read.
	Counts bool
	// Present returns the reader with the right and the address of this moment, since others
	// before may take long: [archive.ErrNotFound] for one who gets none any more. nil: nothing
	// changes.
	Present func(context.Context) (DigestReader, error)
}

// present returns the reader as Present says.
func (r DigestReader) present(ctx context.Context) (DigestReader, error) {
	if r.Present == nil {
		return r, nil
	}
	return r.Present(ctx)
}

// digestKey is the mark that holds each reader's last digest.
const digestKey = "notify/digest"

// digested is the place up to which a reader has had digests.
type digested struct {
	At    time.Time `json:"at"`
	Epoch string    `json:"epoch"`
	Seq   int64     `json:"seq"`
}

// The bounds of a digest.
const (
	digestMeetings = 50
	digestItems    = 30
	digestAgain    = 15 * time.Minute // after a failure
	everyNews      = 1 << 30
)

// Send sends the digests that are due. A digest is made when it is sent, so that it has
// nothing that was forgotten meanwhile. A kill between sending and noting sends it again,
// with the same id.
func (d *Digests) Send(ctx context.Context) error {
	states, err := d.read(ctx)
	if err != nil {
		return err
	}
	if states == nil {
		states = map[string]digested{}
	}
	head, err := d.Deps.Archive.Head(ctx)
	if err != nil {
		return err
	}
	now := d.Deps.Archive.Now()
	present := map[string]digested{}
	var failures []error
	for _, r := range d.Readers {
		name := r.Channel.Name()
		last, known := states[name]
		switch {
		case !known: // from now on
			last = digested{now, head.Epoch, head.Seq}
		case last.Epoch != head.Epoch: // the archive was restored: all of its meetings would be new
			last.Epoch, last.Seq = head.Epoch, head.Seq
		}
		if last.At.After(now) { // by a wrong clock
			last.At = now
		}
		if due := d.Schedule.Next(last.At); !due.After(now) && !d.waits(name, now) {
			reader, err := r.present(ctx)
			if errors.Is(err, archive.ErrNotFound) {
				continue // and the place is dropped, as of everybody who is no reader
			}
			next := last
			if err == nil {
				next, err = d.sendTo(ctx, reader, last, due, now)
			}
			if err == nil {
				last = next
				states, err = d.noteSent(ctx, states, r, last)
			} else {
				d.Failed[name] = now.Add(digestAgain)
				err = errors.Join(err, d.recordFailure(ctx, r, err))
			}
			if err != nil {
				failures = append(failures, fmt.Errorf("digest for %s: %w", name, err))
			}
		}
		present[name] = last
	}
	return errors.Join(append(failures, d.write(context.WithoutCancel(ctx), states, present), d.Deps.CloseDigestFailures(ctx, d.Readers...))...)
}

// waits reports whether a channel failed a moment ago. A try that is further away was set by a wrong clock.
func (d *Digests) waits(name string, now time.Time) bool {
	left := d.Failed[name].Sub(now)
	return left > 0 && left <= digestAgain
}

// noteSent stores at once that a reader got a digest, so that a crash before the last
// reader repeats no more than one. It returns the stored states.
func (d *Digests) noteSent(ctx context.Context, states map[string]digested, r DigestReader, last digested) (map[string]digested, error) {
	delete(d.Failed, r.Channel.Name())
	kept := maps.Clone(states)
	kept[r.Channel.Name()] = last
	ctx = context.WithoutCancel(ctx)
	return kept, errors.Join(d.write(ctx, states, kept), d.Deps.Archive.ResolveFailure(ctx, "", digestClass, r.readerName()))
}

func (d *Digests) read(ctx context.Context) (states map[string]digested, err error) {
	if d.unkept != nil {
		return d.unkept, nil
	}
	raw, err := d.Deps.Archive.Mark(ctx, digestKey)
	if err == nil && raw != nil {
		err = json.Unmarshal(raw, &states)
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of digests: %w", err)
	}
	return states, nil
}

func (d *Digests) write(ctx context.Context, before, after map[string]digested) error {
	old, err := json.Marshal(before)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(after)
	if err != nil || d.unkept == nil && string(old) == string(raw) {
		return err
	}
	if err := d.Deps.Archive.SetMarks(ctx, archive.Mark{Key: digestKey, Value: raw}); err != nil {
		d.unkept = after
		return fmt.Errorf("keep the state of digests: %w", err)
	}
	d.unkept = nil
	return nil
}

// draft is the news of a digest.
type draft struct {
	arrived []int64
	items   []archive.ItemKey
	rows    map[int64]*archive.Row // of those of arrived that are listed
	texts   map[archive.ItemKey]archive.ActionRow
	until   archive.Position // the place up to which it reaches
}

// sendTo sends a reader's digest, unless there is nothing to tell, and returns the state
// afterwards.
func (d *Digests) sendTo(ctx context.Context, r DigestReader, last digested, due, now time.Time) (next digested, err error) {
	news, err := d.draft(ctx, r, last)
	if err != nil {
		return last, err
	}
	next = digested{now, news.until.Epoch, news.until.Seq}
	if err := d.keepSeen(ctx, r, &news); err != nil {
		return last, err
	}
	if len(news.arrived) == 0 && len(news.items) == 0 {
		return next, nil
	}
	id := sha256.Sum256(fmt.Appendf(nil, "%s %d %s", r.Channel.Name(), due.Unix(), last.Epoch))
	return next, r.Channel.Send(ctx, notify.Message{ID: "msg_" + hex.EncodeToString(id[:16]), Kind: notify.News, Key: "digest", At: now.UTC(),
		Title: phrase.Meetings(len(news.arrived)) + " arrived, " + phrase.Count(len(news.items), "action item", "action items") + " open",
		Text:  d.compose(r, last.At, news)})
}

// draft reads the news for a reader's digest.
func (d *Digests) draft(ctx context.Context, r DigestReader, last digested) (draft, error) {
	view, err := d.Deps.ownersView(ctx)
	if err != nil {
		return draft{}, err
	}
	view.Viewer = r.Viewer
	news, _, until, err := d.Roster.News(ctx, view, archive.Position{Epoch: last.Epoch, Seq: last.Seq}, everyNews)
	if err != nil {
		return draft{}, err
	}
	items, err := d.Roster.Items(ctx, view, roster.ItemQuery{Person: r.Person, Aliases: r.Aliases, State: roster.Open})
	if err != nil {
		return draft{}, err
	}
	drafted := draft{items: items.Keys, until: until}
	for _, n := range news {
		if n.IsNew {
			drafted.arrived = append(drafted.arrived, n.RecordingID)
		}
	}
	if drafted.rows, err = d.Deps.Archive.Rows(ctx, drafted.arrived[:min(len(drafted.arrived), digestMeetings)]); err != nil {
		return draft{}, err
	}
	drafted.texts, err = d.Deps.Archive.ActionItemsAt(ctx, drafted.items[:min(len(drafted.items), digestItems)])
	return drafted, err
}

// keepSeen leaves out of a draft the meetings that the reader does not see at this moment.
func (d *Digests) keepSeen(ctx context.Context, r DigestReader, news *draft) error {
	ids := slices.Clone(news.arrived)
	for _, key := range news.items {
		ids = append(ids, key.RecordingID)
	}
	seen, err := d.Deps.Archive.SeenOf(ctx, r.Viewer, ids)
	if err != nil {
		return err
	}
	news.arrived = slices.DeleteFunc(news.arrived, func(id int64) bool { return !seen[id] })
	news.items = slices.DeleteFunc(news.items, func(key archive.ItemKey) bool { return !seen[key.RecordingID] })
	return nil
}

// compose writes the text of a digest.
func (d *Digests) compose(r DigestReader, since time.Time, news draft) string {
	var b strings.Builder
	zone := d.Deps.Location
	fmt.Fprintf(&b, "Since %s: %s arrived.\n", since.In(zone).Format("Monday 2 January 2006, 15:04"), phrase.Meetings(len(news.arrived)))
	if r.Counts {
		fmt.Fprintf(&b, "%s open.\n", phrase.Count(len(news.items), "action item", "action items"))
		return b.String()
	}
	listed := 0
	for _, id := range news.arrived {
		if row := news.rows[id]; row != nil {
			fmt.Fprintf(&b, "\n%s\n%s", phrase.NameMeeting(cmp.Or(row.Title, row.MeetingTitle), row.Key().Start.In(zone), "2 January 2006, 15:04"), d.link(id, -1))
			listed++
		}
	}
	writeMore(&b, len(news.arrived)-listed)
	if len(news.items) > 0 {
		fmt.Fprintf(&b, "\nOpen action items: %d\n", len(news.items))
	}
	listed = 0
	for _, key := range news.items {
		if item, ok := news.texts[key]; ok {
			fmt.Fprintf(&b, "\n- %s%s (%s)\n%s", phrase.Tame(item.Description), assignee(item), phrase.NameMeeting(item.Title, item.Start.In(zone), "2 January 2006"), d.link(item.RecordingID, item.Offset))
			listed++
		}
	}
	writeMore(&b, len(news.items)-listed)
	return b.String()
}

// link returns a line with the address of a moment of a meeting, or "".
func (d *Digests) link(id int64, at time.Duration) string {
	switch {
	case d.Deps.PageURL == "":
		return ""
	case at < 0:
		return fmt.Sprintf("  %s/meetings/%d\n", strings.TrimSuffix(d.Deps.PageURL, "/"), id)
	}
	return fmt.Sprintf("  %s/meetings/%d?t=%d\n", strings.TrimSuffix(d.Deps.PageURL, "/"), id, int(at.Seconds()))
}

func assignee(item archive.ActionRow) string {
	who := phrase.Tame(cmp.Or(item.Assignee, item.Email))
	if who == "" {
		return ""
	}
	return ", " + who
}

func writeMore(b *strings.Builder, n int) {
	if n > 0 {
		fmt.Fprintf(b, "\nand %d more\n", n)
	}
}
