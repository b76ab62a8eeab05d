package years

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// newKey makes an API key of a person.
func (w *world) newKey(p *person) {
	key, err := w.upstream.service.CreateKey(context.Background(), p.email)
	w.must(err, "make a key")
	p.key = key
	list, err := w.upstream.service.Keys(context.Background(), p.email)
	w.must(err, "list keys")
	known := map[string]bool{}
	for _, id := range w.keyIDs {
		known[id] = true
	}
	for _, k := range list {
		if !known[k.ID] {
			w.keyIDs[key] = k.ID
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.owners[key] = p.email
}

// newSecret makes a webhook secret.
func (w *world) newSecret(name string) string {
	w.keys++
	secret := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "secret %s %04d of seed %020d", name, w.keys, w.seed))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.signing = append(w.signing, secret)
	return "whsec_" + secret
}

// unloggable are all words that no log may have: the secrets, and those of the archive's own
// webhooks, which lie in its database to sign with.
func (w *world) unloggable() (list []string) {
	list = append(w.secrets(), w.app.newestTokens()...)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.hooks {
		list = append(list, strings.TrimPrefix(h.secret, "whsec_"))
	}
	return list
}

// secrets are all words that no file may have.
func (w *world) secrets() (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.owners {
		list = append(list, key)
	}
	return append(append(list, w.signing...), w.app.secret)
}

func (w *world) keyOwner(key string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if owner := w.owners[key]; owner != "" {
		return owner
	}
	return "media"
}

// works reports whether the service accepts the credential of an account.
func (w *world) works(a account) bool {
	p := w.org.person(a.email)
	if a.oauth {
		return p.isActive() && w.app.isConnected(a.name)
	}
	return p.isActive() && p.key == a.key
}

// credentialOf names the credential of an account, as calls do.
func (w *world) credentialOf(a account) string {
	if a.oauth {
		return w.app.connectionOf(a.name)
	}
	return a.key
}

// logWriter looks for secrets in the log.
type logWriter struct {
	w    *world
	mu   sync.Mutex // guards last
	last [][]byte
}

// Write takes a line of the log.
func (l *logWriter) Write(p []byte) (int, error) {
	l.w.lookForSecrets("the log", p)
	if words := tokens.Find(p); words != nil { // a log is not erased when the meeting is forgotten
		l.w.report("a word of meeting %s is in the log: %s", words, p)
	}
	if bytes.Contains(p, []byte(host)) && bytes.Contains(p, []byte("/media/")) {
		l.w.report("a signed link is in the log: %s", p)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = append(l.last, fmt.Appendf(nil, "%s %s", time.Now().UTC().Format(time.DateTime), p))
	if len(l.last) > 2000 {
		l.last = l.last[1000:]
	}
	return len(p), nil
}

func newLogger(w *world) (zerolog.Logger, *logWriter) {
	l := &logWriter{w: w}
	return zerolog.New(l).Level(zerolog.TraceLevel), l
}
