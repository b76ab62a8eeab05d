package service

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Lifetimes of codes and tokens, and the scope; 5.9 leaves them open.
const (
	codeLife    = 10 * time.Minute
	accessLife  = 24 * time.Hour
	publicScope = "public_api"
)

// tokens is the answer of the token endpoint.
type tokens struct {
	Access    string `json:"access_token"`
	Refresh   string `json:"refresh_token"`
	ExpiresIn int    `json:"expires_in"`
	Type      string `json:"token_type"`
	Scope     string `json:"scope"`
}

// grantError is an error of the token endpoint, in OAuth's vocabulary.
func grantError(code, detail string) *failure {
	return &failure{status: http.StatusBadRequest, text: code, detail: detail}
}

// errInactiveGrant is the answer to a grant of somebody who may not use its
// tokens; the grant is as good as before once that person is active again.
var errInactiveGrant = grantError("invalid_grant", "the user who allowed this app is not active")

// tokenOwner returns the connection and the person of an access token.
func (s *Service) tokenOwner(ctx context.Context, token string) (id, email string, ok bool, err error) {
	err = s.store.db.R.QueryRowContext(ctx, `SELECT c.id, c.email FROM access_tokens t JOIN connections c ON c.id = t.connection_id
		WHERE t.hash = ? AND t.expires_at > ? AND c.revoked_at IS NULL`, hashSecret(token), s.now().UnixMilli()).Scan(&id, &email)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", false, nil
	}
	if err != nil {
		return "", "", false, fmt.Errorf("read token: %w", err)
	}
	return id, email, true, nil
}

// authRequest is a request that a person consented to.
type authRequest struct {
	clientID, email, redirectURI, scope string
	challenge, method                   string
}

// newCode stores the consent and returns the code for it.
func (st store) newCode(ctx context.Context, a authRequest) (string, error) {
	code, err := st.newSecret("mbc_")
	if err != nil {
		return "", err
	}
	_, err = st.db.ExecContext(ctx, `INSERT INTO auth_codes (hash, client_id, email, redirect_uri, scope, challenge, challenge_method, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, hashSecret(code), a.clientID, a.email, a.redirectURI, a.scope, a.challenge, a.method,
		st.now().Add(codeLife).UnixMilli())
	if err != nil {
		return "", fmt.Errorf("store code: %w", err)
	}
	return code, nil
}

// exchangeCode turns a code into tokens (4.12). A code works once: when it comes a
// second time, somebody else has seen it, so the connection that it gave is revoked.
// All of it is one commit.
func (st store) exchangeCode(ctx context.Context, clientID, code, redirectURI, verifier string, active func(email string) bool) (t tokens, err error) {
	var refused error
	err = st.db.WriteTx(ctx, func(tx *sql.Tx) error {
		var a authRequest
		var expires int64
		var used sql.NullInt64
		var connection sql.NullString
		err := tx.QueryRowContext(ctx, `SELECT client_id, email, redirect_uri, scope, challenge, challenge_method, expires_at, used_at, connection_id
			FROM auth_codes WHERE hash = ?`, hashSecret(code)).
			Scan(&a.clientID, &a.email, &a.redirectURI, &a.scope, &a.challenge, &a.method, &expires, &used, &connection)
		switch {
		case errors.Is(err, sql.ErrNoRows), err == nil && a.clientID != clientID:
			refused = grantError("invalid_grant", "the code is not valid")
			return nil
		case err != nil:
			return fmt.Errorf("read code: %w", err)
		case used.Valid:
			refused = grantError("invalid_grant", "the code was used before")
			_, err := tx.ExecContext(ctx, `UPDATE connections SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?`, st.now().UnixMilli(), connection.String)
			return err
		case expires <= st.now().UnixMilli():
			refused = grantError("invalid_grant", "the code has expired")
			return nil
		}
		if refused = refuseExchange(a, redirectURI, verifier, active); refused != nil {
			return nil
		}
		id, err := st.newID("con_")
		if err != nil {
			return err
		}
		now := st.now().UnixMilli()
		if _, err := tx.ExecContext(ctx, `INSERT INTO connections (id, client_id, email, scope, created_at) VALUES (?, ?, ?, ?, ?)`,
			id, a.clientID, a.email, a.scope, now); err != nil {
			return fmt.Errorf("store connection: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `UPDATE auth_codes SET used_at = ?, connection_id = ? WHERE hash = ?`, now, id, hashSecret(code)); err != nil {
			return fmt.Errorf("use code: %w", err)
		}
		t, err = st.issueTokens(ctx, tx, id, a.scope)
		return err
	})
	return t, errors.Join(err, refused)
}

// refuseExchange returns the reason why a live code is not exchanged, or nil.
func refuseExchange(a authRequest, redirectURI, verifier string, active func(email string) bool) error {
	switch {
	case a.redirectURI != redirectURI:
		return grantError("invalid_grant", "redirect_uri is not the one of the authorization")
	case !isVerified(a, verifier):
		return grantError("invalid_grant", "code_verifier does not match")
	case !active(a.email):
		return errInactiveGrant
	}
	return nil
}

// isVerified checks PKCE (RFC 7636): a challenge needs its verifier, and a
// verifier without a challenge is a mistake too.
func isVerified(a authRequest, verifier string) bool {
	switch {
	case a.challenge == "":
		return verifier == ""
	case a.method == "S256":
		sum := sha256.Sum256([]byte(verifier))
		verifier = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return isSameSecret(verifier, a.challenge)
}

// rotateToken turns a refresh token into new tokens (5.6). Of two that race with one
// token exactly one finds it unused; the new pair is durable before the answer.
func (st store) rotateToken(ctx context.Context, clientID, refresh string, active func(email string) bool) (t tokens, err error) {
	var refused error
	err = st.db.WriteTx(ctx, func(tx *sql.Tx) error {
		var id, scope, email string
		err := tx.QueryRowContext(ctx, `UPDATE refresh_tokens SET used_at = ?1 WHERE hash = ?2 AND used_at IS NULL
			AND connection_id IN (SELECT id FROM connections WHERE client_id = ?3 AND revoked_at IS NULL)
			RETURNING connection_id`, st.now().UnixMilli(), hashSecret(refresh), clientID).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			refused = grantError("invalid_grant", "the refresh token is not valid, or was used before")
			return nil
		}
		if err != nil {
			return fmt.Errorf("use refresh token: %w", err)
		}
		if err := tx.QueryRowContext(ctx, `SELECT scope, email FROM connections WHERE id = ?`, id).Scan(&scope, &email); err != nil {
			return fmt.Errorf("read connection: %w", err)
		}
		if !active(email) {
			return errInactiveGrant // rolls back: the token is not used up
		}
		t, err = st.issueTokens(ctx, tx, id, scope)
		return err
	})
	return t, errors.Join(err, refused)
}

// issueTokens makes a pair of tokens for a connection.
func (st store) issueTokens(ctx context.Context, tx *sql.Tx, connection, scope string) (t tokens, err error) {
	t = tokens{ExpiresIn: int(accessLife / time.Second), Type: "Bearer", Scope: scope}
	if t.Access, err = st.newSecret("mba_"); err != nil {
		return t, err
	}
	if t.Refresh, err = st.newSecret("mbr_"); err != nil {
		return t, err
	}
	now := st.now()
	if _, err := tx.ExecContext(ctx, `INSERT INTO access_tokens (hash, connection_id, expires_at) VALUES (?, ?, ?)`,
		hashSecret(t.Access), connection, now.Add(accessLife).UnixMilli()); err != nil {
		return t, fmt.Errorf("store access token: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO refresh_tokens (hash, connection_id, created_at) VALUES (?, ?, ?)`,
		hashSecret(t.Refresh), connection, now.UnixMilli()); err != nil {
		return t, fmt.Errorf("store refresh token: %w", err)
	}
	return t, nil
}
