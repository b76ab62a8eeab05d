package api

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"sync"
	"time"
)

const (
	loginLife  = 30 * time.Minute
	maxPending = 16 // unfinished logins of one connection
)

// logins are the states of unfinished logins.
type logins struct {
	mu      sync.Mutex // guards pending
	pending []login
}

type login struct {
	state string
	until time.Time
}

// Begin starts a login. It returns AuthorizeURL with a new state, which
// [RedirectHandler] accepts once within half an hour.
func (a *OAuth) Begin() (address, state string, err error) {
	state = NewState()
	if address, err = a.AuthorizeURL(state); err != nil {
		return "", "", err
	}
	a.logins.mu.Lock()
	defer a.logins.mu.Unlock()
	a.logins.pending = append(a.logins.pending, login{state, a.client.now().Add(loginLife)})
	if n := len(a.logins.pending); n > maxPending {
		a.logins.pending = a.logins.pending[n-maxPending:]
	}
	return address, state, nil
}

// take reports whether a state belongs to an unfinished login, and ends that login.
func (l *logins) take(state string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := false
	kept := l.pending[:0]
	for _, p := range l.pending {
		switch {
		case subtle.ConstantTimeCompare([]byte(p.state), []byte(state)) == 1:
			found = p.until.After(now)
		case p.until.After(now):
			kept = append(kept, p)
		}
	}
	l.pending = kept
	return found
}

// RedirectPath returns the path of RedirectURL, for [RedirectHandler].
func (a *OAuth) RedirectPath() string {
	u, err := url.Parse(a.o.RedirectURL)
	if err != nil || u.Path == "" {
		return "/"
	}
	return u.Path
}

// RedirectHandler serves the address to which the service sends a person who has
// allowed a connection. It finishes the login with the same state and informs the
// person. It refuses everything else without a call.
func RedirectHandler(connections ...*OAuth) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		if r.Method != http.MethodGet {
			w.Header().Set("Allow", http.MethodGet)
			writePage(w, http.StatusMethodNotAllowed, "Only a browser that was sent here is expected.")
			return
		}
		state := r.URL.Query().Get("state")
		for _, a := range connections {
			if state == "" || !a.logins.take(state, a.client.now()) {
				continue
			}
			code, err := CodeFrom("?"+r.URL.RawQuery, state)
			if err == nil {
				err = a.Exchange(r.Context(), code)
			}
			if err != nil {
				a.o.Logger.Warn().Err(err).Str("account", a.o.Account).Msg("a login failed")
				writePage(w, http.StatusBadGateway, "Account "+a.o.Account+" could not be connected: "+publicText(err)+". Begin again.")
				return
			}
			writePage(w, http.StatusOK, "Account "+a.o.Account+" is connected. This page can be closed.")
			return
		}
		writePage(w, http.StatusBadRequest, "This login is not known, or took longer than half an hour. Begin again with: minutebook auth login NAME")
	})
}

// publicText returns the part of an error that a person at a browser may read.
func publicText(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return fmt.Sprintf("the service answered %d %s", e.Status, e.Message)
	}
	return err.Error()
}

func writePage(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<!doctype html><html lang=\"en\"><title>Minutebook</title><p>%s</p></html>\n", html.EscapeString(text))
}
