package receiver

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/archive/inbox"
	"minutebook/internal/httpserver"
)

// lingerTime is how long the rest of a refused body is let in so that the sender
// sees the answer.
const lingerTime = 250 * time.Millisecond

// serve wraps a handler that says why it refuses, or none for 200.
func (r *Receiver) serve(handle func(*http.Request, *http.ResponseController) refusal) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		rc := http.NewResponseController(w)
		r.o.Forwarders.Note(req)
		addr := httpserver.ClientAddr(req, r.o.TrustedProxies)
		f := crowded
		if r.clients.enter(addr, r.o.MaxPerAddr) {
			f = handle(req, rc)
			r.clients.leave(addr)
		}
		if f == none {
			httpserver.MarkUseful(req.Context())
			w.WriteHeader(http.StatusOK)
			return
		}
		r.counts.countRefused(f.status)
		if f.unread {
			rc.SetReadDeadline(time.Now().Add(lingerTime))
		}
		f.write(w)
	}
}

// admit checks a request before its body is read.
func (r *Receiver) admit(req *http.Request) refusal {
	switch {
	case req.Method != http.MethodPost:
		return wrongMethod
	case !isUnencoded(req.Header):
		return encoded
	case req.ContentLength > r.o.MaxBody:
		return tooLarge
	case !r.disk.hasRoom(r.o.Now()):
		return diskFull
	case r.inbox.Behind(max(req.ContentLength, 0)):
		return crowded
	}
	return none
}

// isUnencoded reports whether no Content-Encoding is given, since the signature covers
// the bytes as sent.
func isUnencoded(h http.Header) bool {
	for _, v := range h["Content-Encoding"] {
		if !strings.EqualFold(strings.TrimSpace(v), "identity") {
			return false
		}
	}
	return true
}

func (r *Receiver) webhook(req *http.Request, rc *http.ResponseController) refusal {
	if f := r.admit(req); f != none {
		return f
	}
	head, f := readSigned(req.Header, r.o.Now())
	if f != none {
		return f
	}
	body, f := r.readBody(req, rc)
	if f != none {
		return f
	}
	defer body.release()
	account := req.PathValue("account")
	if f := r.verifyDelivery(req, account, body.bytes); f != none {
		return f
	}
	return r.put(req, inbox.Delivery{
		Account: account, Kind: inbox.KindWebhook, WebhookID: head.id, SentAt: head.at,
		ReceivedAt: r.o.Now(), Header: selectHeaders(req.Header), Body: body.bytes,
	})
}

// verifyDelivery verifies a body. The library copies it several times, so large bodies
// wait for each other.
func (r *Receiver) verifyDelivery(req *http.Request, account string, body []byte) refusal {
	if n := int64(len(body)); n > largeBody {
		if r.verify.Acquire(req.Context(), n) != nil {
			return behind // the sender went away
		}
		defer r.verify.Release(n)
	}
	if !r.keys.Load().verify(account, body, req.Header) {
		return unverified // to the byte as before the body, the end of the connection too
	}
	return none
}

// put stores a delivery. It goes on when the sender has gone: the sender comes again and
// then gets its answer.
func (r *Receiver) put(req *http.Request, d inbox.Delivery) refusal {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), r.o.CommitTime)
	defer cancel()
	duplicate, err := r.inbox.Put(ctx, d)
	if err != nil {
		r.failed.Store(r.o.Now().Unix())
		r.log.Error().Err(err).Str("account", d.Account).Str("kind", d.Kind).Msg("delivery not stored")
		return fromInbox(err)
	}
	r.failed.Store(0)
	r.counts.countAccepted(duplicate)
	return none
}

// callback accepts one answer that the service posts to an address made for it. The
// token is the credential: without a valid one no body is read. A body that cannot be
// understood, which intake quarantines, has a key of its own, so that the token stays valid.
func (r *Receiver) callback(req *http.Request, rc *http.ResponseController) refusal {
	kind, token := req.PathValue("kind"), req.PathValue("token")
	if kind != inbox.KindTranscript && kind != inbox.KindSummary && kind != inbox.KindDownload {
		return notFound
	}
	if f := r.admit(req); f != none {
		return f
	}
	if len(token) > maxID {
		return unverified
	}
	c, err := r.inbox.Callback(req.Context(), kind, token)
	switch {
	case errors.Is(err, inbox.ErrNoCallback), errors.Is(err, inbox.ErrCallbackExpired):
		return unverified
	case err != nil:
		r.log.Error().Err(err).Msg("callback not found out")
		return crowded
	}
	body, f := r.readBody(req, rc)
	if f != none {
		return f
	}
	defer body.release()
	d := inbox.Delivery{Account: c.Account, Kind: kind, WebhookID: c.Key, RecordingID: c.RecordingID,
		ReceivedAt: r.o.Now(), Header: selectHeaders(req.Header), Body: body.bytes}
	if kind == inbox.KindDownload {
		d.Body = withoutLinks(d.Body)
	}
	if _, err := archive.FromDelivery(d); err != nil {
		d.WebhookID = c.Key + ".unread"
	}
	return r.put(req, d)
}

// withoutLinks returns the ids that the announcement of a download has, and nothing of a body
// that is none: a link is a credential and is stored nowhere. Sync reads it again.
func withoutLinks(body []byte) []byte {
	var ids map[string]json.RawMessage
	if json.Unmarshal(body, &ids) != nil {
		return nil
	}
	maps.DeleteFunc(ids, func(key string, _ json.RawMessage) bool { return key != "download_id" && key != "recording_id" })
	kept, err := json.Marshal(ids)
	if err != nil {
		return nil
	}
	return kept
}
