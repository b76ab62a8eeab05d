package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"minutebook/archive"
	"minutebook/config"
	"minutebook/internal/notify"
	"minutebook/internal/pause"
	"minutebook/web"
)

// notifyEvery is how often the daemon looks for conditions that need a person.
const notifyEvery = time.Minute

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
	if m := newMail(n); m != nil {
		channels = append(channels, m)
	}
	for _, h := range n.Hooks {
		channels = append(channels, &notify.Hook{Label: h.Name, URL: h.URL, Format: h.Format, Secret: h.Secret, Token: h.Token, AllowPrivate: n.AllowPrivate})
	}
	return channels
}

// runNotify reports conditions that need a person, and calls the heartbeat address, until
// ctx ends.
func (d *daemon) runNotify(ctx context.Context) error {
	n := &notify.Notifier{Channels: func() []notify.Channel { return notifyChannels(d.config().Notify) },
		Store: notifyStore{d.archive}, Now: d.archive.Now, Logger: d.log}
	if earlier, err := n.ToldVersion(ctx, d.opts.Version); err != nil {
		d.log.Warn().Err(err).Msg("tell people what needs them")
	} else if earlier != "" {
		err := n.Announce(ctx, "version", "version "+d.opts.Version+" runs",
			fmt.Sprintf("Version %s replaces %s. The archive was opened, and its databases were brought to the schema of this version.", d.opts.Version, earlier))
		d.reportNotify(ctx, err)
	}
	for last := ""; ctx.Err() == nil; {
		if err := d.notifyOnce(ctx, n); err == nil {
			last = ""
		} else if err.Error() != last {
			last = err.Error()
			d.reportNotify(ctx, err)
		}
		_ = pause.For(ctx, notifyEvery)
	}
	return nil
}

func (d *daemon) reportNotify(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		d.log.Warn().Err(err).Msg("tell people what needs them; it is tried again every minute")
	}
}

// notifyOnce reports new conditions, and calls the heartbeat address after a full success.
func (d *daemon) notifyOnce(ctx context.Context, n *notify.Notifier) error {
	c := d.config().Notify
	if c.Heartbeat == "" && len(notifyChannels(c)) == 0 {
		return nil
	}
	s, err := d.observe(ctx)
	if err != nil {
		return err
	}
	err = n.Update(ctx, s.Conditions(d.archive.Now(), d.began))
	if c.Heartbeat != "" {
		err = errors.Join(err, n.BeatOnce(ctx, s.FullSuccess(), c.Heartbeat, c.AllowPrivate))
	}
	return err
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
