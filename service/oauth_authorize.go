package service

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

//go:embed oauth_authorize.html
var authorizeHTML string

// authorizePage parses the page of consent. It is small; parsing it for each
// request keeps the package without state.
func authorizePage() (*template.Template, error) {
	return template.New("authorize").Parse(authorizeHTML)
}

// authorizeView is the content of the page.
type authorizeView struct {
	App, Message string
	Fatal        bool
	Fields       map[string]string // sent back with the answer
}

// authorize is GET and POST /oauth2/authorize: the person is shown which app
// asks and proves who they are with an API key of theirs, since the service
// knows no passwords. An app or a redirect URI that is not registered exactly
// so is refused on the page, as are parameters that cannot be read or are repeated;
// a wrong key shows the page again. Every other error goes back to the app.
func (s *Service) authorize(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return s.showAuthorize(w, http.StatusBadRequest, authorizeView{Fatal: true, Message: "This address, or the form that was sent to it, cannot be read."})
	}
	f := r.Form
	if name := cmp.Or(repeatedKey(r.URL.Query()), repeatedKey(r.PostForm)); name != "" {
		return s.showAuthorize(w, http.StatusBadRequest, authorizeView{Fatal: true,
			Message: "This address gives " + name + " more than once, so that nobody can say which of them holds."})
	}
	app, err := s.store.app(r.Context(), f.Get("client_id"))
	if err != nil {
		return err
	}
	redirectURI := f.Get("redirect_uri")
	if app != nil && redirectURI == "" && len(app.RedirectURIs) == 1 {
		redirectURI = app.RedirectURIs[0]
	}
	if app == nil || !slices.Contains(app.RedirectURIs, redirectURI) {
		return s.showAuthorize(w, http.StatusBadRequest, authorizeView{Fatal: true,
			Message: "This address is not one that a registered app sends people to: its client_id or its redirect_uri is unknown."})
	}
	a := authRequest{clientID: app.ClientID, redirectURI: redirectURI, scope: publicScope,
		challenge: f.Get("code_challenge"), method: f.Get("code_challenge_method")}
	if a.challenge != "" && a.method == "" {
		a.method = "plain"
	}
	if code := authorizeError(f, a); code != "" {
		return sendBack(w, r, redirectURI, url.Values{"error": {code}}, f.Get("state"))
	}
	if r.Method == http.MethodPost {
		return s.consent(w, r, app, a)
	}
	return s.showAuthorize(w, http.StatusOK, authorizeView{App: app.Name, Fields: hiddenFields(f, redirectURI)})
}

// authorizeError is OAuth's name for the fault of a request, "" without a fault.
func authorizeError(f url.Values, a authRequest) string {
	switch scope := f.Get("scope"); {
	case f.Get("response_type") != "code":
		return "unsupported_response_type"
	case scope != "" && scope != publicScope:
		return "invalid_scope"
	case a.challenge == "" && a.method != "",
		a.challenge != "" && a.method != "plain" && a.method != "S256",
		a.challenge != "" && (len(a.challenge) < 43 || len(a.challenge) > 128):
		return "invalid_request"
	}
	return ""
}

// consent handles the person's answer on the page.
func (s *Service) consent(w http.ResponseWriter, r *http.Request, app *App, a authRequest) error {
	ctx, f := r.Context(), r.PostForm
	if f.Get("answer") != "allow" {
		return sendBack(w, r, a.redirectURI, url.Values{"error": {"access_denied"}}, f.Get("state"))
	}
	if err := s.mirror.Refresh(ctx); err != nil {
		return err
	}
	_, email, ok, err := s.keyOwner(ctx, f.Get("api_key"))
	if err != nil {
		return err
	}
	if !ok || !s.mirror.IsActive(email) {
		return s.showAuthorize(w, http.StatusForbidden, authorizeView{App: app.Name, Fields: hiddenFields(f, a.redirectURI),
			Message: "This API key is not valid. Nothing was allowed."})
	}
	a.email = email
	code, err := s.store.newCode(ctx, a)
	if err != nil {
		return err
	}
	return sendBack(w, r, a.redirectURI, url.Values{"code": {code}}, f.Get("state"))
}

// sendBack redirects to the app with an answer and its state.
func sendBack(w http.ResponseWriter, r *http.Request, redirectURI string, answer url.Values, state string) error {
	u, err := url.Parse(redirectURI)
	if err != nil {
		return errors.New("parse a registered redirect URI")
	}
	q := u.Query()
	for name, values := range answer {
		q[name] = values
	}
	if state != "" {
		q.Set("state", state)
	}
	u.RawQuery = q.Encode()
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Location", u.String())
	w.WriteHeader(http.StatusFound)
	return nil
}

// hiddenFields returns the parameters that the page sends back unchanged.
func hiddenFields(f url.Values, redirectURI string) map[string]string {
	fields := map[string]string{"redirect_uri": redirectURI}
	for _, name := range []string{"client_id", "response_type", "scope", "state", "code_challenge", "code_challenge_method"} {
		if v := f.Get(name); v != "" {
			fields[name] = v
		}
	}
	return fields
}

func (s *Service) showAuthorize(w http.ResponseWriter, status int, view authorizeView) error {
	t, err := authorizePage()
	if err != nil {
		return err
	}
	var body bytes.Buffer
	if err := t.Execute(&body, view); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	// form-action is left open: the answer redirects to the app.
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes())
	return nil
}
