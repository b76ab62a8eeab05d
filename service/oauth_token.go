package service

import (
	"mime"
	"net/http"
	"net/url"

	"minutebook/service/limit"
)

// token is POST /oauth2/token (4.12), for both grants.
func (s *Service) token(w http.ResponseWriter, r *http.Request) error {
	s.limits.Unused(limit.Token).WriteHeaders(w.Header())
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil && kind == "application/x-www-form-urlencoded" {
		err = r.ParseForm()
	}
	if err != nil || r.PostForm == nil {
		return grantError("invalid_request", "send the parameters as a form: Content-Type application/x-www-form-urlencoded")
	}
	if name := repeatedKey(r.PostForm); name != "" {
		return grantError("invalid_request", name+" is given more than once")
	}
	clientID, err := s.authenticateApp(r)
	if err != nil {
		return err
	}
	q, ok := s.limits.Take(clientID, s.now(), limit.Token)
	q.WriteHeaders(w.Header())
	if !ok {
		return rateLimited(q)
	}
	if err := s.mirror.Refresh(r.Context()); err != nil {
		return err
	}
	var t tokens
	switch f := r.PostForm; f.Get("grant_type") {
	case "authorization_code":
		t, err = s.store.exchangeCode(r.Context(), clientID, f.Get("code"), f.Get("redirect_uri"), f.Get("code_verifier"), s.mirror.IsActive)
	case "refresh_token":
		t, err = s.store.rotateToken(r.Context(), clientID, f.Get("refresh_token"), s.mirror.IsActive)
	case "":
		return grantError("invalid_request", "grant_type is required")
	default:
		return grantError("unsupported_grant_type", "grant_type is authorization_code or refresh_token")
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, t)
	return nil
}

// authenticateApp says which app calls: by client_id and client_secret in the
// form, or by HTTP Basic as OAuth libraries try first.
func (s *Service) authenticateApp(r *http.Request) (string, error) {
	id, secret, basic := r.BasicAuth()
	if basic {
		if unescaped, err := url.QueryUnescape(id); err == nil {
			id = unescaped
		}
		if unescaped, err := url.QueryUnescape(secret); err == nil {
			secret = unescaped
		}
	} else {
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
		if id == "" {
			return "", grantError("invalid_request", "client_id is not in the form")
		}
	}
	app, err := s.store.app(r.Context(), id)
	if err != nil {
		return "", err
	}
	if app == nil || !isSameSecret(string(app.secretHash), string(hashSecret(secret))) {
		return "", &failure{status: http.StatusUnauthorized, text: "invalid_client", detail: "client_id and client_secret do not match"}
	}
	return app.ClientID, nil
}
