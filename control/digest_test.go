package control_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/roster"
	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/crontab"
	"minutebook/internal/notify"
)

// postbox is a channel that keeps its messages, or refuses them.
type postbox struct {
	name string
	down bool
	got  []notify.Message
	seen func() // called by Send; nil: nothing
}

func (i *postbox) Name() string { return i.name }
func (i *postbox) Send(_ context.Context, m notify.Message) error {
	if i.down {
		return errors.New("down")
	}
	if i.seen != nil {
		i.seen()
	}
	i.got = append(i.got, m)
	return nil
}

// TestDigests sends a week of digests to the owner's channel, to a channel that others
// read, and to a person: each gets the meetings it may see, once, also when it was down on the day.
func TestDigests(t *testing.T) {
	now := time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)
	a, err := archive.Open(t.Context(), archive.Options{Dir: archivetest.Dir(t), Create: true, Logger: zerolog.Nop(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	arrive := func(id int64, recorder string) {
		t.Helper()
		o, err := archive.FromMeeting("main", archive.SourceList, now, fmt.Appendf(nil,
			`{"recording_id":%d,"title":"Meeting\n%d","recording_start_time":"2026-03-01T10:00:00Z","recorded_by":{"name":"R","email":%q},"calendar_invitees":[],"shared_with":"no_teams",`+
				`"action_items":[{"description":"task %d","completed":false,"user_generated":false,"recording_timestamp":"00:00:07","recording_playback_url":"","assignee":{"name":"R","email":%q}}]}`, id, id, recorder, id, recorder))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Apply(t.Context(), []archive.Observation{o}); err != nil {
			t.Fatal(err)
		}
	}
	schedule, err := crontab.Parse("0 7 * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	owner, wall, bob := &postbox{name: "mail"}, &postbox{name: "wall"}, &postbox{name: "person/2"}
	r, failed := roster.New(a), map[string]time.Time{}
	send := func(day, hour, minute int) error { // a new one each time, as after a restart
		now = time.Date(2026, 3, day, hour, minute, 0, 0, time.UTC)
		d := control.Digests{Deps: control.Deps{Archive: a, PageURL: "https://minutes.example/", Location: time.UTC}, Roster: r, Schedule: schedule, Failed: failed,
			Readers: []control.DigestReader{{Channel: owner, Viewer: archive.Viewer{All: true}}, {Channel: wall, Viewer: archive.Viewer{All: true}, Counts: true},
				{Channel: bob, Viewer: archive.ViewerWith("bob@example.com", "bob@old.example"), Person: "bob@example.com", Aliases: []string{"bob@example.com", "bob@old.example"}}}}
		return d.Send(t.Context())
	}
	arrive(1, "ada@example.com") // before digests were wished for
	for _, at := range [][3]int{{1, 6, 0}, {1, 6, 59}} {
		if err := send(at[0], at[1], at[2]); err != nil {
			t.Fatal(err)
		}
	}
	arrive(2, "ada@example.com")
	arrive(3, "bob@old.example")
	odd, err := archive.FromMeeting("main", archive.SourceList, now, []byte(`{"recording_id":90,"title":" ","shared_with":"no_teams","action_items":[{"description":"call","assignee":{"name":"","email":"cy@x.example"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Apply(t.Context(), []archive.Observation{odd}); err != nil {
		t.Fatal(err)
	}
	bob.down = true
	if err := send(1, 7, 0); err == nil || !strings.Contains(err.Error(), "person/2") {
		t.Errorf("a channel that is down: %v", err)
	}
	open := func() (what string) {
		t.Helper()
		all, err := a.Failures(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			what += f.Class + " " + f.What + " "
		}
		return what
	}
	if got := open(); got != "digest bob@example.com " {
		t.Errorf("open failures: %q", got)
	}
	bob.down = false
	for _, at := range [][3]int{{1, 7, 1}, {1, 7, 16}, {1, 7, 17}, {1, 23, 0}} { // again after a quarter of an hour
		if err := send(at[0], at[1], at[2]); err != nil {
			t.Fatal(err)
		}
	}
	if got := open(); got != "" {
		t.Errorf("open failures after a digest: %q", got)
	}
	if len(owner.got) != 1 || len(wall.got) != 1 || len(bob.got) != 1 {
		t.Fatalf("%d, %d, %d digests", len(owner.got), len(wall.got), len(bob.got))
	}
	if m := owner.got[0]; m.Title != "3 meetings arrived, 4 action items open" || !strings.Contains(m.Text, "Meeting 2, 1 March 2026, 10:00\n  https://minutes.example/meetings/2\n") ||
		!strings.Contains(m.Text, "\nUntitled\n  https://minutes.example/meetings/90\n") || !strings.Contains(m.Text, "- call, cy@x.example (Untitled)\n") ||
		!strings.Contains(m.Text, "- task 3, R (Meeting 3, 1 March 2026)\n  https://minutes.example/meetings/3?t=7\n") {
		t.Errorf("%s\n%s", m.Title, m.Text)
	}
	if m := wall.got[0]; m.Title != "3 meetings arrived, 4 action items open" || strings.Contains(m.Text, "Meeting") || strings.Contains(m.Text, "task") {
		t.Errorf("%s\n%s", m.Title, m.Text)
	}
	if m := bob.got[0]; m.Title != "1 meeting arrived, 1 action item open" || strings.Contains(m.Text, "Meeting 2") || !strings.Contains(m.Text, "task 3") {
		t.Errorf("%s\n%s", m.Title, m.Text)
	}
	bob.seen = func() { // a crash here must not send the digests of the others again
		if state, err := a.Mark(t.Context(), "notify/digest"); err != nil || strings.Count(string(state), "2026-03-02T07:00") != 2 {
			t.Errorf("while the last digest is sent, %s is kept, %v", state, err)
		}
	}
	if err := send(2, 7, 0); err != nil || len(owner.got) != 2 || !strings.HasPrefix(owner.got[1].Title, "0 meetings arrived") || owner.got[1].ID == owner.got[0].ID {
		t.Errorf("the next day: %v, %+v", err, owner.got[1:])
	}
	if err := send(1, 8, 0); err != nil || len(owner.got) != 2 { // the clock was ahead by a day
		t.Errorf("%v, %d digests", err, len(owner.got))
	}

	bob.seen = nil
	// From now on each Monday, by the clock of a place whose summer begins on 29 March.
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	if schedule, err = crontab.Parse(config.Notify{Digest: "weekly", DigestAt: "07:30"}.DigestSchedule(), zone); err != nil {
		t.Fatal(err)
	}
	arrive(4, "ada@example.com")
	for day := 2; day <= 31; day++ { // the 2nd is a Monday
		for _, at := range [][2]int{{5, 29}, {5, 30}, {6, 29}, {6, 30}} { // UTC
			if err := send(day, at[0], at[1]); err != nil {
				t.Fatal(err)
			}
		}
		if day == 24 || day == 29 {
			arrive(int64(day), "ada@example.com")
		}
	}
	var weekly []string
	for _, m := range owner.got[2:] {
		weekly = append(weekly, m.At.Format("2 15:04 ")+m.Title)
	}
	if want := []string{"2 06:30 1 meeting arrived, 5 action items open", "9 06:30 0 meetings arrived, 5 action items open", "16 06:30 0 meetings arrived, 5 action items open",
		"23 06:30 0 meetings arrived, 5 action items open", "30 05:30 2 meetings arrived, 7 action items open"}; !slices.Equal(weekly, want) {
		t.Errorf("weekly digests: %q, want %q", weekly, want)
	}
}

// TestDigestsGoByTheRightsOfTheMoment removes a person, and gives another one an address,
// while a digest goes out to a reader before them.
func TestDigestsGoByTheRightsOfTheMoment(t *testing.T) {
	now := time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)
	a, err := archive.Open(t.Context(), archive.Options{Dir: archivetest.Dir(t), Create: true, Logger: zerolog.Nop(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	schedule, err := crontab.Parse("0 7 * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	ann, bob, old, cleo := &postbox{name: "person/1"}, &postbox{name: "person/2"}, &postbox{name: "person/3"}, &postbox{name: "person/3"}
	readerOf := func(p *postbox, address string) control.DigestReader {
		return control.DigestReader{Channel: p, Viewer: archive.ViewerWith(address), Person: address}
	}
	changed := false
	ann.seen = func() { changed = true }
	bobs, cleos := readerOf(bob, "bob@example.com"), readerOf(old, "cleo@old.example")
	bobs.Present = func(context.Context) (control.DigestReader, error) {
		if changed {
			return control.DigestReader{}, archive.ErrNotFound
		}
		return bobs, nil
	}
	cleos.Present = func(context.Context) (control.DigestReader, error) {
		if changed {
			return readerOf(cleo, "cleo@example.com"), nil
		}
		return cleos, nil
	}
	d := control.Digests{Deps: control.Deps{Archive: a, Location: time.UTC}, Roster: roster.New(a), Schedule: schedule, Failed: map[string]time.Time{},
		Readers: []control.DigestReader{readerOf(ann, "ann@example.com"), bobs, cleos}}
	if err := d.Send(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, recorder := range []string{"ann@example.com", "bob@example.com", "cleo@example.com", "cleo@old.example"} {
		o, err := archive.FromMeeting("main", archive.SourceList, now, fmt.Appendf(nil,
			`{"recording_id":%d,"title":"Of %s","recorded_by":{"name":"R","email":%q},"calendar_invitees":[],"shared_with":"no_teams"}`, i+1, recorder, recorder))
		if err == nil {
			_, err = a.Apply(t.Context(), []archive.Observation{o})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(2 * time.Hour)
	if err := d.Send(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(ann.got) != 1 || len(bob.got) != 0 || len(old.got) != 0 || len(cleo.got) != 1 {
		t.Fatalf("%d digests for Ann, %d for who was removed, %d to Cleo's old address, %d to the new one", len(ann.got), len(bob.got), len(old.got), len(cleo.got))
	}
	if text := cleo.got[0].Text; !strings.Contains(text, "Of cleo@example.com") || strings.Contains(text, "old") {
		t.Errorf("Cleo reads %s", text)
	}
}

// TestADigestThatCannotBeNotedIsNotSentEachMinute sends a digest while the archive takes no marks, as on
// a full disk: once, also when there is room again and the program starts anew after that.
func TestADigestThatCannotBeNotedIsNotSentEachMinute(t *testing.T) {
	now := archivetest.Epoch
	a := archivetest.OpenAt(t, archivetest.Dir(t), func() time.Time { return now })
	schedule, err := crontab.Parse("0 * * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	owner := &postbox{name: "mail"}
	start := func() *control.Digests {
		return &control.Digests{Deps: control.Deps{Archive: a, Location: time.UTC}, Roster: roster.New(a), Schedule: schedule, Failed: map[string]time.Time{},
			Readers: []control.DigestReader{{Channel: owner, Viewer: archive.Viewer{All: true}}}}
	}
	d := start()
	if err := d.Send(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, a, 1)
	behindTheBack(t, a, `CREATE TRIGGER full BEFORE INSERT ON marks BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`)
	now = schedule.Next(now)
	for range 3 {
		if err := d.Send(t.Context()); err == nil || !strings.Contains(err.Error(), "disk is full") {
			t.Errorf("a state that cannot be kept: %v", err)
		}
		now = now.Add(time.Minute)
	}
	behindTheBack(t, a, `DROP TRIGGER full`)
	for range 2 {
		if err := d.Send(t.Context()); err != nil {
			t.Error(err)
		}
		d = start()
	}
	if len(owner.got) != 1 {
		t.Errorf("%d digests were sent", len(owner.got))
	}
}

// TestAClockThatLeaptDelaysNoDigest has a channel fail while the clock is ahead by 40 days.
func TestAClockThatLeaptDelaysNoDigest(t *testing.T) {
	now := archivetest.Epoch
	a := archivetest.OpenAt(t, archivetest.Dir(t), func() time.Time { return now })
	schedule, err := crontab.Parse("0 * * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	owner := &postbox{name: "mail"}
	d := control.Digests{Deps: control.Deps{Archive: a, Location: time.UTC}, Roster: roster.New(a), Schedule: schedule, Failed: map[string]time.Time{},
		Readers: []control.DigestReader{{Channel: owner, Viewer: archive.Viewer{All: true}}}}
	if err := d.Send(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, a, 1)
	now, owner.down = archivetest.Epoch.AddDate(0, 0, 40), true
	if err := d.Send(t.Context()); err == nil {
		t.Error("a channel that is down succeeds")
	}
	now, owner.down = schedule.Next(archivetest.Epoch), false
	if err := d.Send(t.Context()); err != nil || len(owner.got) != 1 {
		t.Errorf("%d digests were sent, %v", len(owner.got), err)
	}
}
