package years

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
)

// newKey makes an API key of a person.
func (w *world) newKey(p *person) {
	key, err := w.upstream.service.CreateKey(context.Background(), p.email)
	w.must(err, "make a key")
	p.key = key
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
	list = w.secrets()
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
	return append(list, w.signing...)
}

func (w *world) keyOwner(key string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if owner := w.owners[key]; owner != "" {
		return owner
	}
	return "media"
}

func (w *world) keyOf(email string) string { return w.org.person(email).key }
