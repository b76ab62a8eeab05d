package syncer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive"
	"minutebook/archive/inbox"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	syncer "minutebook/sync"
)

// outside holds the webhooks and announcements that the service sends by itself, each
// again and again until it is acknowledged.
type outside struct {
	mu   sync.Mutex // guards the fields below
	open map[string]func(*archive.Archive) error
}

func (o *outside) add(name string, send func(*archive.Archive) error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open[name] = send
}

// send makes an attempt of each that is open.
func (o *outside) send(ar *archive.Archive) (left int) {
	o.mu.Lock()
	todo := make(map[string]func(*archive.Archive) error, len(o.open))
	for name, send := range o.open {
		todo[name] = send
	}
	o.mu.Unlock()
	for name, send := range todo {
		if send(ar) == nil {
			o.mu.Lock()
			delete(o.open, name)
			o.mu.Unlock()
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.open)
}

// begin has the webhooks of three meetings under way. Their titles are others than
// those that the list shows, so that each leaves a revision whenever it arrives.
func (o *outside) begin(created func(id int64) time.Time) {
	o.mu.Lock()
	o.open = map[string]func(*archive.Archive) error{}
	o.mu.Unlock()
	for id := int64(1); id <= 3; id++ {
		body := bytes.ReplaceAll(rig.Meeting(id, created(id)), []byte(`"title":"Meeting`), []byte(`"title":"Announced`))
		o.add(fmt.Sprint("webhook ", id), func(ar *archive.Archive) error {
			_, err := ar.Inbox().Put(context.Background(), inbox.Delivery{Account: "ada", Kind: inbox.KindWebhook,
				WebhookID: fmt.Sprint("msg_", id), ReceivedAt: time.Now(), SentAt: time.Now(), Body: body})
			return err
		})
	}
}

// TestInterruptedInboxTheEndIsTheSame cuts the daemon before and after commits of
// the inbox: of webhooks and of announcements that come in, of addresses for the
// next ones, and of the record of applied ones.
func TestInterruptedInboxTheEndIsTheSame(t *testing.T) {
	testrun.SkipUnderRace(t)
	kinds := []knife{{item: anInboxCommit}, {item: anInboxCommit, after: true}}
	if testrun.IsLong() {
		kinds = append(kinds, knife{item: aCommit}, knife{item: aCommit, after: true})
	}
	for _, kind := range kinds {
		t.Run(fmt.Sprintf("%v, after %v", kind.item, kind.after), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { cutEverywhere(t, kind, announcedRuns(t)) })
		})
	}
}

// announcedRuns are whole runs of a daemon to which the service sends webhooks
// and announcements.
func announcedRuns(t *testing.T) func(*rig.Upstream) wholeRun {
	o, dir := &outside{}, ""
	return func(u *rig.Upstream) wholeRun {
		newest := time.Now().Add(-time.Hour)
		u.Announce(func(d rig.Announced) {
			o.add(d.URL, func(ar *archive.Archive) error {
				switch code := post(t, ar, d.URL, completed(d)); {
				case code == http.StatusOK:
					return nil
				case code < 500:
					t.Errorf("an announcement was refused: %d", code)
				}
				return errors.New("not acknowledged")
			})
		})
		return func(ctx context.Context, t *testing.T, u *rig.Upstream, ar *archive.Archive) error {
			if ar.Dir() != dir {
				dir = ar.Dir()
				o.begin(func(id int64) time.Time { return newest.Add(-time.Duration(12-id) * 50 * time.Hour) })
			}
			return daemon(ctx, t, u, ar, o)
		}
	}
}

// daemon runs until nothing is left to do, here and outside.
func daemon(ctx context.Context, t *testing.T, u *rig.Upstream, ar *archive.Archive, o *outside) error {
	s, err := syncer.New(syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, PublicURL: public,
		Schedule: syncer.Schedule{Backfill: "0 1 31 12 *"}, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		stop()
		<-ended
	}()
	for deadline := time.Now().Add(time.Hour); ctx.Err() == nil && time.Now().Before(deadline); time.Sleep(time.Second) {
		if o.send(ar) > 0 {
			continue
		}
		if done, err := settled(ctx, s, ar); done || err != nil {
			return err
		}
	}
	st, err := s.Status(ctx)
	return errors.Join(fmt.Errorf("not done in an hour: %d sendings are open, downloads %v, failures %+v", o.send(ar), st.Downloads.Queue, st.Failures), err)
}

func settled(ctx context.Context, s *syncer.Syncer, ar *archive.Archive) (bool, error) {
	st, err := s.Status(ctx)
	if err != nil {
		return false, err
	}
	c, err := ar.Counts(ctx)
	if err != nil {
		return false, err
	}
	if st.Inbox.Quarantined > 0 {
		return false, errors.New("a delivery is in quarantine")
	}
	return st.Inbox.Received == 0 && st.Accounts[0].Backfilled && st.Accounts[0].ContentTasks == 0 && c.Meetings == 12 &&
		st.Downloads.Queue[archive.DownloadDone] == c.Meetings, nil
}
