package web

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"minutebook/internal/httpserver"
	"minutebook/web/access"
)

const (
	ceremonyLife = 5 * time.Minute
	// maxCeremonies are open at most for one client, and maxAllCeremonies for all.
	maxCeremonies    = 50
	maxAllCeremonies = 5000
)

// ceremonies are the uses of passkeys that are under way, by their challenge. Each is
// finished at most once, and none survives the process.
type ceremonies struct {
	now func() time.Time

	mu   sync.Mutex
	open map[string]ceremony
}

func newCeremonies(now func() time.Time) *ceremonies {
	return &ceremonies{now: now, open: map[string]ceremony{}}
}

// ceremony is a use of a passkey that a client has begun.
type ceremony struct {
	webauthn.SessionData
	client netip.Addr
}

// keep notes a ceremony that a client has begun. A client with too many loses the
// oldest of its own, and where all are too many, the site with the most does, so that
// nobody keeps others from signing in.
func (c *ceremonies) keep(client netip.Addr, data *webauthn.SessionData) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, own, oldest := c.now(), 0, ""
	client = httpserver.Network(client.Unmap())
	for challenge, other := range c.open {
		if !now.Before(other.Expires) {
			delete(c.open, challenge)
		} else if other.client == client {
			if own++; oldest == "" || other.Expires.Before(c.open[oldest].Expires) {
				oldest = challenge
			}
		}
	}
	if own >= maxCeremonies {
		delete(c.open, oldest)
	}
	if len(c.open) >= maxAllCeremonies {
		delete(c.open, c.findDispensable())
	}
	data.Expires = now.Add(ceremonyLife)
	c.open[data.Challenge] = ceremony{*data, client}
}

// findDispensable returns the oldest ceremony of the site that has begun the most. The
// caller holds the lock, and there is a ceremony.
func (c *ceremonies) findDispensable() (oldest string) {
	begun := map[netip.Prefix]int{}
	for _, each := range c.open {
		begun[access.Site(each.client)]++
	}
	most := 0
	for challenge, each := range c.open {
		if n := begun[access.Site(each.client)]; n > most || n == most && each.Expires.Before(c.open[oldest].Expires) {
			oldest, most = challenge, n
		}
	}
	return oldest
}

// take returns the ceremony of a challenge and ends it.
func (c *ceremonies) take(challenge string) (webauthn.SessionData, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.open[challenge]
	delete(c.open, challenge)
	now := c.now() // a clock that was set back makes none last longer
	if !ok || !now.Before(found.Expires) || now.Before(found.Expires.Add(-ceremonyLife-oidcSlack)) {
		return webauthn.SessionData{}, &failure{http.StatusUnprocessableEntity, "This took too long. Try again."}
	}
	found.Expires = time.Time{} // judged here, by the page's clock
	return found.SessionData, nil
}

// passkeysNeed says why a page has no passkeys.
const passkeysNeed = "browsers take passkeys for a domain such as minutes.example alone"

// newPasskeys returns the relying party for passkeys of the page's public address.
func newPasskeys(publicURL *url.URL) (*webauthn.WebAuthn, error) {
	p, err := webauthn.New(&webauthn.Config{
		RPID: publicURL.Hostname(), RPDisplayName: "Minutebook", RPOrigins: []string{publicURL.Scheme + "://" + publicURL.Host},
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			RequireResidentKey: protocol.ResidentKeyRequired(), ResidentKey: protocol.ResidentKeyRequirementRequired,
			UserVerification: protocol.VerificationRequired},
		AttestationPreference: protocol.PreferNoAttestation,
	})
	if err != nil {
		return nil, fmt.Errorf("prepare passkeys for web.public_url: %w", err)
	}
	return p, nil
}

// passkeyRoutes returns the routes of passkeys. The script for them sends and reads JSON,
// as browsers write it.
func (s *server) passkeyRoutes() []route {
	remove := route{"POST /me/passkeys/remove", s.page(form(s.removePasskey))} // of another domain
	if s.passkeys == nil {
		return []route{remove}
	}
	return []route{
		{"POST /login/passkey/begin", s.publicData(s.beginPasskeySignIn)},
		{"POST /login/passkey/finish", s.publicData(s.finishPasskeySignIn)},
		{"POST /invitation/passkey/begin", s.publicData(form(s.beginInvitedPasskey))},
		{"POST /invitation/passkey/finish", s.publicData(s.finishInvitedPasskey)},
		{"POST /me/passkeys/begin", s.data(s.beginPasskey)},
		{"POST /me/passkeys/finish", s.data(s.finishPasskey)},
		remove,
	}
}

func (s *server) beginPasskeySignIn(w http.ResponseWriter, r *http.Request) error {
	options, data, err := s.passkeys.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return fmt.Errorf("begin sign-in by passkey: %w", err)
	}
	s.SignIns.ceremonies.keep(s.client(r), data)
	writeJSON(w, http.StatusOK, options)
	return nil
}

// finishPasskeySignIn signs the owner of a passkey in.
func (s *server) finishPasskeySignIn(w http.ResponseWriter, r *http.Request) error {
	if err := refuseUntil(w, s.SignIns.attempts.Wait(s.client(r))); err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	answer, err := protocol.ParseCredentialRequestResponse(r)
	if err != nil {
		return s.refusePasskey(r, err)
	}
	data, err := s.SignIns.ceremonies.take(answer.Response.CollectedClientData.Challenge)
	if err != nil {
		return err
	}
	find := func(_, handle []byte) (webauthn.User, error) {
		return s.Entry.People.PasskeyOwnerByHandle(r.Context(), handle)
	}
	user, credential, err := s.passkeys.ValidatePasskeyLogin(find, data, answer)
	if err != nil {
		return s.refusePasskey(r, err)
	}
	if credential.Authenticator.CloneWarning {
		return s.refusePasskey(r, errors.New("its counter went back: the key may have been copied"))
	}
	owner, ok := user.(*access.PasskeyOwner)
	if !ok {
		return fmt.Errorf("sign in by passkey: the owner is a %T", user)
	}
	if err := s.Entry.People.NotePasskey(r.Context(), credential); err != nil {
		return err
	}
	if err := s.beginSession(w, r, owner.Person, access.MethodPasskey); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, struct{}{})
	return nil
}

// refusePasskey writes the reason into the log and the audit, and counts the failure.
func (s *server) refusePasskey(r *http.Request, reason error) error {
	if detailed, ok := errors.AsType[*protocol.Error](reason); ok && detailed.DevInfo != "" {
		reason = fmt.Errorf("%w: %s", reason, detailed.DevInfo)
	}
	s.SignIns.attempts.Fail(s.client(r))
	s.Logger.Warn().Err(reason).Stringer("client", s.client(r)).Msg("sign-in by passkey failed")
	err := s.Entry.People.Record(r.Context(), access.Event{Actor: access.ActorSystem, Kind: access.SignInFailed, IDs: access.IDs{Method: access.MethodPasskey}})
	if err != nil {
		return err
	}
	return &failure{http.StatusUnauthorized, "This passkey is not known here. Sign in another way, or ask an admin for a link."}
}

// startPasskey sends the options for a new passkey of a person.
func (s *server) startPasskey(w http.ResponseWriter, r *http.Request, person int64) error {
	owner, err := s.Entry.People.PasskeyOwner(r.Context(), person)
	if err != nil {
		return err
	}
	options, data, err := s.passkeys.BeginRegistration(owner, webauthn.WithExclusions(webauthn.Credentials(owner.WebAuthnCredentials()).CredentialDescriptors()))
	if err != nil {
		return fmt.Errorf("begin a passkey: %w", err)
	}
	s.SignIns.ceremonies.keep(s.client(r), data)
	writeJSON(w, http.StatusOK, options)
	return nil
}

// newPasskey is the answer of the browser with a new passkey.
type newPasskey struct {
	Label      string          `json:"label"`
	Secret     string          `json:"secret"` // of the invitation, where there is one
	Credential json.RawMessage `json:"credential"`
}

// readPasskey checks the answer of the browser with a new passkey of a person.
func (s *server) readPasskey(w http.ResponseWriter, r *http.Request, find func(newPasskey) (int64, error)) (n newPasskey, c *webauthn.Credential, err error) {
	unreadable := &failure{http.StatusBadRequest, "The passkey could not be read."}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxForm)).Decode(&n); err != nil {
		return n, nil, unreadable
	}
	if n.Label == "" || len(n.Label) > 100 {
		n.Label = "Passkey"
	}
	person, err := find(n)
	if err != nil {
		return n, nil, err
	}
	answer, err := protocol.ParseCredentialCreationResponseBytes(n.Credential)
	if err != nil {
		return n, nil, unreadable
	}
	data, err := s.SignIns.ceremonies.take(answer.Response.CollectedClientData.Challenge)
	if err != nil {
		return n, nil, err
	}
	owner, err := s.Entry.People.PasskeyOwner(r.Context(), person)
	if err != nil {
		return n, nil, err
	}
	if c, err = s.passkeys.CreateCredential(owner, data, answer); err != nil {
		s.Logger.Warn().Err(err).Msg("refuse a passkey")
		return n, nil, unreadable
	}
	return n, c, nil
}

// beginPasskey and finishPasskey add a passkey of a person who is signed in.
func (s *server) beginPasskey(w http.ResponseWriter, r *http.Request) error {
	return s.startPasskey(w, r, visitorOf(r.Context()).Person.ID)
}

func (s *server) finishPasskey(w http.ResponseWriter, r *http.Request) error {
	person := visitorOf(r.Context()).Person.ID
	n, credential, err := s.readPasskey(w, r, func(newPasskey) (int64, error) { return person, nil })
	if err != nil {
		return err
	}
	err = s.Entry.People.AddPasskey(r.Context(), person, n.Label, credential)
	if errors.Is(err, access.ErrManyKeys) || errors.Is(err, access.ErrKnownKey) {
		return &failure{http.StatusUnprocessableEntity, sentence(err)}
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, struct{}{})
	return nil
}

// beginInvitedPasskey and finishInvitedPasskey accept an invitation with a passkey in
// place of a password.
func (s *server) beginInvitedPasskey(w http.ResponseWriter, r *http.Request) error {
	person, err := s.Entry.People.Invitation(r.Context(), r.PostForm.Get("secret"))
	if err != nil {
		return s.refuseInvitation(err)
	}
	return s.startPasskey(w, r, person.ID)
}

func (s *server) finishInvitedPasskey(w http.ResponseWriter, r *http.Request) error {
	n, credential, err := s.readPasskey(w, r, func(n newPasskey) (int64, error) {
		invited, err := s.Entry.People.Invitation(r.Context(), n.Secret)
		if err != nil {
			return 0, s.refuseInvitation(err)
		}
		return invited.ID, nil
	})
	if err != nil {
		return err
	}
	person, err := s.Entry.People.AcceptInvitationByPasskey(r.Context(), n.Secret, n.Label, credential)
	if err != nil {
		return s.refuseInvitation(err)
	}
	if err := s.beginSession(w, r, person, access.MethodPasskey); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, struct{}{})
	return nil
}

func (s *server) removePasskey(w http.ResponseWriter, r *http.Request) error {
	id, err := base64.RawURLEncoding.DecodeString(r.PostForm.Get("passkey"))
	if err != nil {
		return &failure{http.StatusBadRequest, "This form could not be read."}
	}
	err = s.Entry.People.RemovePasskey(r.Context(), visitorOf(r.Context()).Person.ID, id)
	switch {
	case errors.Is(err, access.ErrOnlyPasskey):
		return s.renderMe(w, r, http.StatusUnprocessableEntity, &mePage{Notice: sentence(err)})
	case err != nil && !errors.Is(err, access.ErrNoPasskey):
		return err
	}
	return s.seeOther(w, r, "/me")
}
