package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"minutebook/api"
	"minutebook/internal/guard"
	"minutebook/internal/outbound"
	"minutebook/internal/pause"
	"minutebook/service/fault"
)

// senders is how many attempts are under way at one time.
const senders = 32

// idleWait bounds how long the sender sleeps. New rows wake it, so the bound only
// matters when the clock is set forward.
const idleWait = 10 * time.Minute

// sendQueue attempts the rows that are due until ctx ends or the queue cannot be read,
// and then ends the attempts under way. A row stays in the queue until its outcome is
// recorded, so an attempt cut short is made again, with the same webhook-id.
func (s *Service) sendQueue(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	type done struct {
		o   *outgoing
		err error
	}
	results := make(chan done, senders)
	turns := sendTurns{inflight: map[int64]bool{}, busy: map[string]int{}}
	defer func() {
		end()
		for range turns.inflight {
			<-results
		}
	}()
	for {
		due, next, err := s.store.readDue(ctx, s.now(), 4*senders)
		if err != nil {
			return err
		}
		s.reportSuccess("queue")
		for i := range due {
			if o := &due[i]; turns.take(o) {
				go func() { results <- done{o, guard.Run(s.log, "queue", func() error { return s.attempt(ctx, o) })} }()
			}
		}
		wait := time.NewTimer(s.untilNext(next))
		select {
		case <-ctx.Done():
			wait.Stop()
			return ctx.Err()
		case r := <-results:
			turns.giveBack(r.o)
			if r.err != nil && ctx.Err() == nil {
				s.log.Error().Err(r.err).Msg("make a sending; it is tried again")
				if err := pause.For(ctx, time.Second); err != nil {
					return err
				}
			}
		case <-s.wake:
		case <-wait.C:
		}
		wait.Stop()
	}
}

// sendTurns bounds the sendings under way: in all, for an endpoint and for an owner.
type sendTurns struct {
	inflight map[int64]bool
	busy     map[string]int // by endpoint and by owner
}

// take begins a turn for o, unless o is under way or a bound is reached.
func (t sendTurns) take(o *outgoing) bool {
	if t.inflight[o.id] || len(t.inflight) >= senders || t.busy[o.endpointKey()] >= perEndpoint || t.busy["owner "+o.owner] >= perOwner {
		return false
	}
	t.inflight[o.id] = true
	t.busy[o.endpointKey()]++
	t.busy["owner "+o.owner]++
	return true
}

// giveBack ends the turn of o.
func (t sendTurns) giveBack(o *outgoing) {
	delete(t.inflight, o.id)
	for _, key := range []string{o.endpointKey(), "owner " + o.owner} {
		if t.busy[key]--; t.busy[key] == 0 {
			delete(t.busy, key)
		}
	}
}

func (s *Service) untilNext(next time.Time) time.Duration {
	if next.IsZero() {
		return idleWait
	}
	return min(max(next.Sub(s.now()), time.Millisecond), idleWait)
}

// attempt sends a row once and records the outcome. A row whose owner may not
// have it any more ends without being sent; one whose owner has no status at present waits.
func (s *Service) attempt(ctx context.Context, o *outgoing) error {
	if may, err := s.mayReceive(ctx, o); err != nil {
		return err
	} else if !may {
		if s.lacksStatus(o.owner) && s.now().Before(o.createdAt.Add(unknownLimit)) {
			return s.store.postpone(ctx, o.id, s.now().Add(unknownWait))
		}
		return s.store.withhold(ctx, o.id)
	}
	secret := ""
	if o.webhookID != "" {
		hooks, err := readWebhooks(ctx, s.store.db.R, o.webhookID)
		if err != nil {
			return err
		}
		if len(hooks) == 0 {
			return nil // deleted or disabled meanwhile, and its deliveries with it
		}
		secret = hooks[0].secret
	}
	all := ctx
	ctx, end := s.transfers.begin(ctx, o.recordingID)
	defer end()
	body, ok, err := s.store.readBody(ctx, o.id)
	if err == nil && ok {
		o.body = body
		return s.sendBody(ctx, o, secret)
	}
	if ctx.Err() != nil {
		return all.Err() // nil: its meeting is being forgotten
	}
	return err
}

// lacksStatus reports whether the directory says at present neither that a person is active nor that
// the person is deactivated: it does not know the person, as for a night in which a list could not
// be read, or calls the person otherwise.
func (s *Service) lacksStatus(email string) bool {
	p := s.mirror.Person(email)
	return p == nil || p.User.Status != api.StatusActive && p.User.Status != api.StatusDeactivated
}

// mayReceive reports whether a row's owner may be sent it now, which may be a day
// after it was queued: nothing goes to a person who is not active, and content
// that was asked for goes to those who see the meeting. Whether a webhook fires
// was decided when the meeting was finalised (6.1) and stays so.
func (s *Service) mayReceive(ctx context.Context, o *outgoing) (bool, error) {
	if err := s.mirror.Refresh(ctx); err != nil {
		return false, err
	}
	if !s.mirror.IsActive(o.owner) {
		return false, nil
	}
	visible, allowed := s.mirror.MayDownload(o.recordingID, o.owner)
	return o.webhookID != "" || visible && (allowed || o.kind != "download"), nil
}

// sendBody sends a row's body and records the outcome, unless the meeting is
// forgotten meanwhile.
func (s *Service) sendBody(ctx context.Context, o *outgoing, secret string) error {
	out := s.send(ctx, o, secret)
	if ctx.Err() != nil {
		return nil // it stays in the queue, where it was not forgotten
	}
	if out.ok && o.webhookID != "" && s.faults.RollFor(fault.Duplicate, o.recordingID) {
		s.send(ctx, o, secret)
	}
	disabled, err := s.recordSending(ctx, o, out)
	if err != nil {
		return nil // ctx ended, and it stays in the queue
	}
	event := s.log.Debug()
	if disabled {
		event = s.log.Warn()
	}
	event.Str("kind", o.kind).Int64("recording_id", o.recordingID).Str("webhook", o.webhookID).Int("attempt", o.attempts+1).
		Bool("delivered", out.ok).Bool("disabled", disabled).Str("reason", out.reason).Msg("sent")
	return nil
}

// recordSending records an outcome, and tries again until ctx ends. Meanwhile the attempt
// keeps its turn: while nothing can be recorded, as on a full disk, no row is sent a second
// time, and no more rows are sent than have turns.
func (s *Service) recordSending(ctx context.Context, o *outgoing, out outcome) (bool, error) {
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		disabled, err := s.store.recordOutcome(ctx, o, out)
		if err == nil || ctx.Err() != nil {
			return disabled, err
		}
		s.log.Error().Err(err).Int64("recording_id", o.recordingID).Dur("again_in", wait).Msg("record a sending; it is tried again")
		if err := pause.For(ctx, wait); err != nil {
			return false, err
		}
	}
}

// send makes one attempt. Only a 2xx within deliveryTimeout is a success.
func (s *Service) send(ctx context.Context, o *outgoing, secret string) outcome {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url, bytes.NewReader(o.body))
	if err != nil {
		return outcome{at: s.now(), reason: "the address cannot be called"}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Minutebook-Webhooks/1.0")
	if secret != "" {
		if err := sign(req, secret, o, s.now()); err != nil {
			return outcome{at: s.now(), reason: err.Error()}
		}
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return outcome{at: s.now(), reason: withoutURL(err)}
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the endpoint can end its answer
	out := outcome{at: s.now(), status: resp.StatusCode, ok: resp.StatusCode >= 200 && resp.StatusCode < 300}
	if !out.ok {
		out.reason = "answered " + strconv.Itoa(resp.StatusCode)
	}
	return out
}

// sign puts the Standard Webhooks headers on a delivery, dated now.
func sign(req *http.Request, secret string, o *outgoing, now time.Time) error {
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return fmt.Errorf("read webhook secret: %w", err)
	}
	signature, err := hook.Sign(o.messageID, now, o.body)
	if err != nil {
		return fmt.Errorf("sign webhook: %w", err)
	}
	req.Header.Set(standardwebhooks.HeaderWebhookID, o.messageID)
	req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	req.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return nil
}

// withoutURL is the text of an error without the address, which may hold a secret.
func withoutURL(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, context.DeadlineExceeded) || u != nil && u.Timeout() {
		return "no answer in time"
	}
	return outbound.ExplainTLS(err).Error()
}
