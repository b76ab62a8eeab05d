package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"minutebook/internal/outbound"
	"minutebook/internal/pause"
)

// call is one request of the interface, to be sent once or more.
type call struct {
	method  string
	path    string // below the base URL, escaped where needed
	query   url.Values
	body    []byte // or nil
	form    bool   // the body is a form, not JSON
	classes []Class
	// once: a repetition could carry out the call twice.
	once bool
	// uncertain is set when an attempt broke off and may have been carried out.
	uncertain bool
	// sent is set before the first attempt that leaves this process.
	sent bool
	// finish: once sent, the call goes on to its end even when its context ends,
	// because its answer cannot be read again.
	finish bool
}

func get(path string, query url.Values) *call {
	return &call{method: http.MethodGet, path: path, query: query, classes: []Class{ClassGlobal}}
}

// asHeavy makes the call count as a heavy one too.
func (c *call) asHeavy() *call {
	c.classes = []Class{ClassGlobal, ClassHeavy}
	return c
}

// answer is a successful answer of the service.
type answer struct {
	status             int
	body               []byte // valid JSON, or empty
	sentAt, answeredAt time.Time
	order              int64
	date               time.Time // by the service's clock; zero: unknown
	cut                error     // why the body could not be read whole
}

const (
	// maxBody is the longest accepted body of an answer, in bytes, and maxValues
	// bounds its JSON values: a body that is a few kilobytes compressed must not take
	// gigabytes of memory.
	maxBody      = 64 << 20
	maxErrorBody = 64 << 10
	maxValues    = 4_000_000
	// maxAttempts and maxRefusals limit the repetitions of one call.
	maxAttempts = 6
	maxRefusals = 20
	firstDelay  = time.Second
	maxDelay    = 30 * time.Second
)

// do sends a call until it succeeds, fails for good or has been tried often
// enough.
func (c *Client) do(ctx context.Context, cl *call) (*answer, error) {
	since := c.now()
	failures, refusals, renewed := 0, 0, false
	for {
		a, req, err := c.attempt(ctx, cl, since)
		if err == nil {
			c.repeated.Store(nil)
			return a, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s %s: %w", cl.method, cl.path, context.Cause(ctx))
		}
		switch status := statusOf(err); {
		case status == http.StatusUnauthorized && !renewed && req != nil:
			renewed = true
			retry, credErr := c.cred.Refused(ctx, req)
			if credErr != nil {
				return nil, fmt.Errorf("%w; %w", err, credErr)
			}
			if !retry {
				return nil, err
			}
		case status == http.StatusTooManyRequests:
			// The budget knows the wait, and the call returns to its place.
			if refusals++; refusals >= maxRefusals {
				return nil, err
			}
		case !IsTemporary(err), cl.once && !isUnsent(err):
			return nil, err
		default:
			cl.uncertain = cl.uncertain || !isUnsent(err)
			if failures++; failures >= maxAttempts || isOnce(ctx) {
				return nil, err
			}
			c.repeated.Store(&err)
			if err := c.pause(ctx, failures, err); err != nil {
				return nil, fmt.Errorf("%s %s: %w", cl.method, cl.path, err)
			}
		}
		c.log.Debug().Err(err).Msg("repeating a call")
	}
}

// pause waits before repetition n: longer each time, between half of the time and
// all of it at random, and never shorter than the service demands.
func (c *Client) pause(ctx context.Context, n int, err error) error {
	delay := min(firstDelay<<(n-1), maxDelay)
	delay = delay/2 + time.Duration(c.random()*float64(delay/2))
	if refusal, ok := errors.AsType[*Error](err); ok {
		if refusal.RetryAfter > cmp.Or(longestWaitOf(ctx), longestWait) {
			return err
		}
		delay = max(delay, refusal.RetryAfter)
	}
	return pause.For(ctx, delay)
}

// attempt sends a call once, within the budget. It returns the request whenever it
// made one, for the credential to recognise.
func (c *Client) attempt(ctx context.Context, cl *call, since time.Time) (*answer, *http.Request, error) {
	req, err := c.newRequest(ctx, cl)
	if err != nil {
		return nil, nil, err
	}
	slot, err := c.budget.acquire(ctx, since, cl.classes...)
	if err != nil {
		return nil, nil, err
	}
	settled, sent := false, false
	defer func() {
		if !settled && sent { // the transport panicked: the slot is not lost by it
			c.budget.finish(ctx, slot, 0, nil)
		} else if !settled {
			c.budget.giveBack(slot)
		}
	}()
	// The credential comes last, since a token must not expire while the call waits.
	if err := c.cred.Apply(ctx, req); err != nil {
		return nil, nil, fmt.Errorf("%s %s: %w", cl.method, cl.path, err)
	}
	if !c.budget.isOpenFor(slot) {
		c.budget.giveBack(slot)
		return c.attempt(ctx, cl, since)
	}
	cl.sent, sent = true, true
	a, header, err := c.send(ctx, cl, req)
	settled = true
	if err != nil {
		return nil, req, c.recordBroken(ctx, cl, slot, err)
	}
	c.budget.finish(ctx, slot, a.status, header)
	c.log.Debug().Str("method", cl.method).Str("path", cl.path).Int("status", a.status).
		Dur("took", a.answeredAt.Sub(a.sentAt)).Int("bytes", len(a.body)).Msg("call")
	if err := checkAnswer(cl, req, a, header); err != nil {
		return nil, req, err
	}
	return a, req, nil
}

// send sends a request and reads the answer, whatever its status. It fails when none
// comes.
func (c *Client) send(ctx context.Context, cl *call, req *http.Request) (*answer, http.Header, error) {
	a := &answer{sentAt: c.now(), order: nextOrder(ctx)}
	if cl.finish {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	ctx, repeated := withoutRepeats(ctx)
	defer repeated(nil)
	resp, err := c.http.Do(req.WithContext(ctx))
	if err != nil {
		if errors.Is(context.Cause(ctx), errRepeated) {
			err = errRepeated
		}
		return nil, nil, err
	}
	a.body, a.cut = readBody(resp)
	a.status, a.answeredAt = resp.StatusCode, c.now()
	a.date, _ = http.ParseTime(resp.Header.Get("Date"))
	return a, resp.Header, nil
}

// checkAnswer returns the error of an answer that is no success, ended early or is not
// JSON.
func checkAnswer(cl *call, r *http.Request, a *answer, h http.Header) error {
	if a.status < 200 || a.status > 299 {
		return newError(cl, r, a, h)
	}
	cause := a.cut
	if cause == nil {
		cause = checkJSON(h, a.body)
	}
	if cause != nil {
		return &brokenError{method: cl.method, path: cl.path, cause: cause, temporary: !errors.Is(cause, errUnusable)}
	}
	return nil
}

func (c *Client) newRequest(ctx context.Context, cl *call) (*http.Request, error) {
	address := c.base.String() + cl.path
	if len(cl.query) > 0 {
		address += "?" + cl.query.Encode()
	}
	var body io.Reader
	if cl.body != nil {
		body = bytes.NewReader(cl.body)
	}
	req, err := http.NewRequestWithContext(ctx, cl.method, address, body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", cl.method, cl.path, withoutAddress(err))
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.userAgent)
	if cl.form {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else if cl.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// recordBroken records a call without an answer. Without a connection the service
// cannot have counted the call. A certificate that is refused now will be refused
// the next time too.
func (c *Client) recordBroken(ctx context.Context, cl *call, s *slot, err error) error {
	b := &brokenError{method: cl.method, path: cl.path, cause: outbound.ExplainTLS(withoutAddress(err)), temporary: true}
	var op *net.OpError
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var noTLS tls.RecordHeaderError
	switch {
	case errors.As(err, &certificate), errors.As(err, &noTLS), errors.Is(err, http.ErrSchemeMismatch):
		b.unsent, b.temporary = true, false
	case errors.As(err, &dns), errors.As(err, &op) && op.Op == "dial":
		b.unsent = true
	}
	if b.unsent {
		c.budget.giveBack(s)
	} else {
		c.budget.finish(ctx, s, 0, nil)
	}
	return b
}

func isUnsent(err error) bool {
	var b *brokenError
	return errors.As(err, &b) && b.unsent
}

// withoutAddress removes the URL from an error of net/http, since the URL may
// contain callback tokens.
func withoutAddress(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

var errUnusable = errors.New("the answer is not of this interface; check base_url")

func readBody(resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	limit := int64(maxBody)
	if resp.StatusCode >= 300 {
		limit = maxErrorBody
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return body, fmt.Errorf("read the answer: %w", withoutAddress(err))
	}
	if int64(len(body)) > limit && resp.StatusCode < 300 {
		return nil, fmt.Errorf("%w: it is longer than %d MiB", errUnusable, maxBody>>20)
	}
	return body, nil
}

// checkJSON distinguishes an answer that was cut off, which may be complete the next
// time, from an answer of another kind.
func checkJSON(h http.Header, body []byte) error {
	if bytes.Count(body, []byte(",")) > maxValues {
		return fmt.Errorf("%w: it has more than %d values", errUnusable, maxValues)
	}
	if len(bytes.TrimSpace(body)) == 0 || json.Valid(body) {
		return nil
	}
	if strings.Contains(h.Get("Content-Type"), "html") {
		return fmt.Errorf("%w: it is HTML", errUnusable)
	}
	var any json.RawMessage
	err := json.NewDecoder(bytes.NewReader(body)).Decode(&any)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: it was cut off after %d bytes", len(body))
	}
	return fmt.Errorf("%w: it is not JSON", errUnusable)
}
