package access

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"minutebook/internal/sqlite"
)

// TokenPrefix begins every token, so that a lost one is recognised.
const TokenPrefix = "mbt_"

// maxTokenLife is how long a token can be valid.
const maxTokenLife = 10 * 366 * 24 * time.Hour

// Scope is a group of things that a token can do.
type Scope string

// The scopes. A token does no more than its person can.
const (
	ScopeRead   Scope = "read"   // search and read
	ScopeExport Scope = "export" // exports and recordings
	ScopeAdmin  Scope = "admin"  // manage
)

// allScopes returns all scopes.
func allScopes() []Scope { return []Scope{ScopeRead, ScopeExport, ScopeAdmin} }

// Token is a personal token for a program, without its secret.
type Token struct {
	ID        int64     `json:"id"`
	Person    int64     `json:"person"`
	Label     string    `json:"label"`
	Scopes    []Scope   `json:"scopes"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
	UsedAt    time.Time `json:"used_at,omitzero"` // up to five minutes before the last request
	RevokedAt time.Time `json:"revoked_at,omitzero"`
}

// Has reports whether the token has a scope.
func (t Token) Has(scope Scope) bool { return slices.Contains(t.Scopes, scope) }

// IsValid reports whether the token opens anything at a time.
func (t Token) IsValid(now time.Time) bool {
	return t.RevokedAt.IsZero() && isCurrent(now, t.CreatedAt, t.ExpiresAt)
}

// CreateToken makes a token of a person. The secret is returned only here. It fails with
// [ErrScope], [ErrLifetime], [ErrNotAdmin], and [ErrNotFound] for a person who was removed.
func (d *DB) CreateToken(ctx context.Context, by Actor, person int64, label string, scopes []Scope, expires time.Time) (secret string, t Token, err error) {
	now := sqlite.Time(d.now().UnixMilli())
	if err := checkScopes(scopes); err != nil {
		return "", Token{}, err
	}
	if !expires.After(now) || expires.Sub(now) > maxTokenLife {
		return "", Token{}, ErrLifetime
	}
	secret, hash := newSecret(TokenPrefix)
	t = Token{Person: person, Label: strings.TrimSpace(label), Scopes: sortedScopes(scopes), CreatedAt: now, ExpiresAt: sqlite.Time(expires.UnixMilli())}
	err = d.db.WriteTx(ctx, func(tx *sql.Tx) error {
		if err := checkActing(ctx, tx); err != nil {
			return err
		}
		p, err := findPerson(ctx, tx, `p.id = ? AND p.removed_at IS NULL`, person)
		if err != nil {
			return err
		}
		if t.Has(ScopeAdmin) && !p.Admin {
			return ErrNotAdmin
		}
		done, err := tx.ExecContext(ctx, `INSERT INTO tokens (hash, person, label, scopes, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)`,
			hash, person, t.Label, joinScopes(t.Scopes), now.UnixMilli(), t.ExpiresAt.UnixMilli())
		if err != nil {
			return fmt.Errorf("make token: %w", err)
		}
		if t.ID, err = done.LastInsertId(); err != nil {
			return fmt.Errorf("make token: %w", err)
		}
		return d.record(ctx, tx, Event{Actor: by, Kind: TokenMade, IDs: IDs{Person: person, Token: t.ID}})
	})
	if err != nil {
		return "", Token{}, err
	}
	return secret, t, nil
}

func checkScopes(scopes []Scope) error {
	for _, s := range scopes {
		if !slices.Contains(allScopes(), s) {
			return ErrScope
		}
	}
	if len(scopes) == 0 {
		return ErrScope
	}
	return nil
}

// sortedScopes returns each scope once, in the order of allScopes.
func sortedScopes(scopes []Scope) []Scope {
	return slices.DeleteFunc(allScopes(), func(s Scope) bool { return !slices.Contains(scopes, s) })
}

func joinScopes(scopes []Scope) string {
	var names []string
	for _, s := range scopes {
		names = append(names, string(s))
	}
	return strings.Join(names, ",")
}

const tokenColumns = `t.id, t.person, t.label, t.scopes, t.created_at, t.expires_at, t.used_at, t.revoked_at`

// tokenFields has the values of tokenColumns until finish fills the token.
type tokenFields struct {
	scopes           string
	created, expires int64
	used, revoked    sql.NullInt64
}

func (f *tokenFields) targets(t *Token) []any {
	return []any{&t.ID, &t.Person, &t.Label, &f.scopes, &f.created, &f.expires, &f.used, &f.revoked}
}

func (f *tokenFields) finish(t *Token) {
	for name := range strings.SplitSeq(f.scopes, ",") {
		t.Scopes = append(t.Scopes, Scope(name))
	}
	t.CreatedAt, t.ExpiresAt = sqlite.Time(f.created), sqlite.Time(f.expires)
	t.UsedAt, t.RevokedAt = sqlite.NullTime(f.used), sqlite.NullTime(f.revoked)
}

// Token returns the token of a secret and its person. It fails with [ErrNoToken]
// for any secret that opens nothing now. Callers check that the person is an admin
// where they ask for [ScopeAdmin].
func (d *DB) Token(ctx context.Context, secret string) (Token, Person, error) {
	var t Token
	var p Person
	var own tokenFields
	var fields personFields
	err := d.db.R.QueryRowContext(ctx, `SELECT `+tokenColumns+`, `+personColumns+`
		FROM tokens t JOIN people p ON p.id = t.person WHERE t.hash = ?`, hashSecret(secret)).
		Scan(append(own.targets(&t), fields.targets(&p)...)...)
	if err != nil {
		return Token{}, Person{}, orElse(err, ErrNoToken)
	}
	own.finish(&t)
	if err := fields.finish(&p); err != nil {
		return Token{}, Person{}, fmt.Errorf("read person: %w", err)
	}
	now := d.now()
	if !t.IsValid(now) {
		return Token{}, Person{}, ErrNoToken
	}
	if err := d.CheckIn(ctx, p); err != nil {
		return Token{}, Person{}, orElse(err, ErrNoToken)
	}
	d.noteToken(ctx, &t, now)
	return t, p, nil
}

// noteToken writes that the token is used, as noteSession does for a session.
func (d *DB) noteToken(ctx context.Context, t *Token, now time.Time) {
	if now.Sub(t.UsedAt) < seenEvery {
		return
	}
	_, err := d.db.ExecContext(ctx, `UPDATE tokens SET used_at = ?1 WHERE id = ?2 AND coalesce(used_at, 0) < ?1`, now.UnixMilli(), t.ID)
	if err != nil {
		if ctx.Err() == nil {
			d.log.Warn().Err(err).Int64("token", t.ID).Msg("cannot write when the token was last used")
		}
		return
	}
	t.UsedAt = sqlite.Time(now.UnixMilli())
}

// Tokens returns the tokens of a person, or with 0 those of all people, the oldest
// first, expired and revoked ones included.
func (d *DB) Tokens(ctx context.Context, person int64) ([]Token, error) {
	tokens, err := sqlite.List(ctx, d.db.R, func(rows *sql.Rows, t *Token) error {
		var own tokenFields
		err := rows.Scan(own.targets(t)...)
		own.finish(t)
		return err
	}, `SELECT `+tokenColumns+` FROM tokens t WHERE ?1 = 0 OR t.person = ?1 ORDER BY t.id`, person)
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	return tokens, nil
}

// RevokeToken ends a token of a person; person 0 stands for any. Revoking it again
// changes nothing. It fails with [ErrNoToken] when there is no such token.
func (d *DB) RevokeToken(ctx context.Context, by Actor, person, token int64) error {
	return d.db.WriteTx(ctx, func(tx *sql.Tx) error {
		var owner int64
		var revoked sql.NullInt64
		err := tx.QueryRowContext(ctx, `SELECT person, revoked_at FROM tokens WHERE id = ? AND (?2 = 0 OR person = ?2)`, token, person).Scan(&owner, &revoked)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNoToken
		}
		if err != nil || revoked.Valid {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE tokens SET revoked_at = ? WHERE id = ?`, d.now().UnixMilli(), token); err != nil {
			return fmt.Errorf("revoke token: %w", err)
		}
		return d.record(ctx, tx, Event{Actor: by, Kind: TokenRevoked, IDs: IDs{Person: owner, Token: token}})
	})
}
