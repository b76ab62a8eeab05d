package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/crontab"
	"minutebook/internal/notify"
	"minutebook/internal/pause"
	"minutebook/internal/sqlite"
	"minutebook/internal/systemd"
	"minutebook/web"
	"minutebook/web/access"
)

const (
	// notifyEvery is how often the daemon looks for conditions that need a person.
	notifyEvery = time.Minute
	// asleepAfter is the time between two looks after which the machine must have slept, or
	// its clock was set: nothing could succeed meanwhile.
	asleepAfter = 10 * time.Minute
)

// notifyStore keeps the state of the notifications in the archive.
type notifyStore struct{ archive *archive.Archive }

const notifyKey = "notify/state"

// Load implements notify.Store.
func (s notifyStore) Load(ctx context.Context) ([]byte, error) { return s.archive.Mark(ctx, notifyKey) }

// Save implements notify.Store.
func (s notifyStore) Save(ctx context.Context, state []byte) error {
	return s.archive.SetMarks(ctx, archive.Mark{Key: notifyKey, Value: state})
}

// newMail returns the configured way of e-mail, nil where there is none.
func newMail(n config.Notify) *notify.Mail {
	m := n.Mail
	if m.Host == "" {
		return nil
	}
	return &notify.Mail{Host: m.Host, Port: m.Port, Username: m.Username, Password: m.Password,
		From: m.From, To: m.To, TLS: m.TLS, AllowPrivate: n.AllowPrivate}
}

// notifyChannels returns the configured channels.
func notifyChannels(n config.Notify) (channels []notify.Channel) {
	if mail := newMail(n); mail != nil {
		channels = append(channels, mail)
	}
	for _, h := range n.Hooks {
		channels = append(channels, &notify.Hook{Label: h.Name, URL: h.URL, Format: h.Format, Secret: h.Secret, Token: h.Token, AllowPrivate: n.AllowPrivate, Now: time.Now})
	}
	return channels
}

// look makes the daemon look for conditions that need a person now.
func (d *daemon) look() {
	select {
	case d.looking <- struct{}{}:
	default: // it will
	}
}

// runNotify reports conditions that need a person, and calls the heartbeat address, until
// ctx ends.
func (d *daemon) runNotify(ctx context.Context) error {
	n := d.notifier
	d.reportNotify(ctx, n.ChangeVersion(ctx, d.opts.Version, func(earlier string) string {
		return fmt.Sprintf("Version %s replaces %s. %s.", d.opts.Version, earlier, describeMigrations(d.archive.Migrations()))
	}))
	awake, configured := d.began, d.config()
	for last, failure := d.began.Round(0), ""; ctx.Err() == nil; {
		now := d.archive.Now().Round(0) // by the clock on the wall, which a sleep moves
		if gap := now.Sub(last); gap > asleepAfter || gap < 0 {
			awake = now
		}
		last = now
		if c := d.config(); c != configured {
			configured = c
			n.Retry()
		}
		failure = d.reportChange(ctx, d.notifyOnce(ctx, n, awake), failure)
		waitFor(ctx, notifyEvery, d.looking)
	}
	return nil
}

// describeMigrations says which databases a start has migrated.
func describeMigrations(done []archive.Migration) string {
	if len(done) == 0 {
		return "This start has migrated no database"
	}
	var each []string
	for _, m := range done {
		each = append(each, fmt.Sprintf("%s (schema %d to %d)", m.Database, m.From, m.To))
	}
	return "This start has migrated " + strings.Join(each, ", ")
}

// runDigests sends the digests that are due until ctx ends. A mail server that hangs holds
// up the digest of each person in turn, but nothing else.
func (d *daemon) runDigests(ctx context.Context) error {
	configured, digests := d.config(), &control.Digests{Roster: d.roster, Failed: map[string]time.Time{}}
	for failure := ""; ctx.Err() == nil; {
		changed := d.configChanged()
		if c := d.config(); c != configured {
			configured = c
			clear(digests.Failed)
		}
		failure = d.reportChange(ctx, d.sendDigests(ctx, digests), failure)
		waitFor(ctx, notifyEvery, changed)
	}
	return nil
}

// reportChange logs a failure that is not the one before, and returns its text.
func (d *daemon) reportChange(ctx context.Context, err error, before string) string {
	if err == nil {
		return ""
	}
	if err.Error() != before {
		d.reportNotify(ctx, err)
	}
	return err.Error()
}

func (d *daemon) reportNotify(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		d.log.Warn().Err(err).Msg("tell people what needs them; it is tried again every minute")
	}
}

// notifyOnce reports new conditions, and calls the heartbeat address after a full success.
// awake is the time since which the daemon could work.
func (d *daemon) notifyOnce(ctx context.Context, n *notify.Notifier, awake time.Time) error {
	c := d.config().Notify
	if c.Heartbeat == "" && len(notifyChannels(c)) == 0 {
		return n.Update(ctx, nil) // channels that were removed go
	}
	s, err := d.observe(ctx)
	if err != nil && ctx.Err() == nil {
		return errors.Join(err, n.Begin(ctx, notify.Condition{Key: "archive", Title: "the archive cannot be read",
			Text: fmt.Sprintf("%v\n\nSee what is damaged: minutebook verify", err)}))
	}
	if err != nil {
		return err
	}
	err = n.Update(ctx, s.Conditions(d.archive.Now(), awake))
	if c.Heartbeat != "" {
		err = errors.Join(err, n.Beat(ctx, s.FullSuccess(), c.Heartbeat, c.AllowPrivate))
	}
	return err
}

// mailbox is the channel to one person.
type mailbox struct {
	*notify.Mail
	person access.Person
}

// Name implements notify.Channel.
func (m *mailbox) Name() string { return fmt.Sprintf("person/%d", m.person.ID) }

// Send implements notify.Channel.
func (m *mailbox) Send(ctx context.Context, message notify.Message) error {
	return m.SendTo(ctx, message, m.person.Address())
}

// sendDigests sends the digests that are due by the present configuration.
func (d *daemon) sendDigests(ctx context.Context, digests *control.Digests) (err error) {
	c := d.config()
	expr := c.Notify.DigestSchedule()
	digests.Deps = d.deps()
	if expr == "" {
		return digests.Deps.CloseDigestFailures(ctx)
	}
	if digests.Schedule, err = crontab.Parse(expr, digests.Deps.Location); err != nil {
		return err
	}
	if digests.Readers, err = d.digestReaders(ctx, c); err != nil {
		return err
	}
	return digests.Send(ctx)
}

// digestReaders returns who gets digests. Where people sign in, a channel is read by
// somebody whose rights nobody knows: it gets numbers only.
func (d *daemon) digestReaders(ctx context.Context, c *config.Config) (readers []control.DigestReader, err error) {
	for _, channel := range notifyChannels(c.Notify) {
		if len(c.Notify.DigestTo) == 0 || slices.Contains(c.Notify.DigestTo, channel.Name()) {
			readers = append(readers, control.DigestReader{Channel: channel, Viewer: archive.Viewer{All: true}, Counts: c.Web.Access != config.AccessOwner})
		}
	}
	mail := newMail(c.Notify)
	if !c.Notify.DigestPeople || mail == nil {
		return readers, nil
	}
	people, err := d.Access(ctx)
	if err != nil {
		return nil, err
	}
	list, err := people.People(ctx)
	if err != nil {
		return nil, err
	}
	out, err := people.Out(ctx, list)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if !out[p.ID] {
			readers = append(readers, newPersonReader(mail, people, p))
		}
	}
	return readers, nil
}

// newPersonReader returns a person as a reader of digests.
func newPersonReader(mail *notify.Mail, people *access.DB, p access.Person) control.DigestReader {
	return control.DigestReader{Channel: &mailbox{mail, p}, Viewer: archive.ViewerWith(p.Addresses...), Person: p.Address(), Aliases: p.Addresses,
		Present: func(ctx context.Context) (control.DigestReader, error) {
			present, err := people.Person(ctx, p.ID)
			if err == nil {
				err = people.CheckIn(ctx, present)
			}
			if errors.Is(err, access.ErrOut) || errors.Is(err, access.ErrNotFound) {
				err = archive.ErrNotFound
			}
			if err != nil {
				return control.DigestReader{}, err
			}
			return newPersonReader(mail, people, present), nil
		}}
}

// notifyPause is between two looks for new matches of saved searches.
const notifyPause = 5 * time.Second

// runNotifications tells the addresses of saved searches of new meetings until ctx ends,
// by the page of the present configuration.
func (d *daemon) runNotifications(ctx context.Context) error {
	for {
		if page, ok := (*d.page.current.Load()).(*web.Handler); ok {
			if err := page.Notify(ctx); err != nil && ctx.Err() == nil {
				d.log.Error().Err(err).Msg("look for new matches of saved searches; the next look is soon")
			}
		}
		if err := pause.For(ctx, notifyPause); err != nil {
			return err
		}
	}
}

// tellManager tells systemd that the daemon answers, that it lives, and that it stops.
func (d *daemon) tellManager(ctx context.Context) error {
	systemd.Ready()
	systemd.RunWatchdog(ctx, d.answers, func(err error) {
		d.log.Error().Err(err).Msg("the archive does not answer: the watchdog is not told that the program lives")
	})
	<-ctx.Done()
	systemd.Stopping()
	return nil
}

// answers reads from the archive as the page's health does, and fails where a restart may
// help. Damage, a full disk and the lock of another program are answers: the service would
// only be down as well.
func (d *daemon) answers(ctx context.Context) error {
	_, err := d.archive.Written(ctx)
	if sqlite.IsAnswer(err) {
		return nil
	}
	return err
}
