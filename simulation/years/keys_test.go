package years

import (
	"context"
	"encoding/base64"
	"fmt"
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

// secrets are all words that no log may have.
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
