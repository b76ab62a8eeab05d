package access

import (
	"strings"
	"testing"
	"time"
)

func TestTokenHasScopesAndAnEnd(t *testing.T) {
	f := newFixture(t)
	f.add(t, "boss@example.com", true)
	ann := f.add(t, "ann@example.com", false)
	started, month := f.now, 30*24*time.Hour
	make := func(scopes []Scope, expires time.Time) (string, Token, error) {
		return f.CreateToken(t.Context(), ann.Actor(), ann.ID, " laptop ", scopes, expires)
	}
	secret, token, err := make([]Scope{ScopeExport, ScopeRead, ScopeRead}, started.Add(month))
	if err != nil || !strings.HasPrefix(secret, TokenPrefix) || len(secret) != len(TokenPrefix)+43 {
		t.Fatalf("token %+v, %v", token, err)
	}
	if !token.Has(ScopeRead) || !token.Has(ScopeExport) || token.Has(ScopeAdmin) || token.Label != "laptop" || len(token.Scopes) != 2 {
		t.Errorf("token %+v", token)
	}
	for _, tt := range []struct {
		after time.Duration
		want  error
	}{{0, nil}, {month - time.Second, nil}, {month, ErrNoToken}, {-time.Hour, ErrNoToken}, {time.Hour, nil}} {
		f.now = started.Add(tt.after)
		_, _, err := f.Token(t.Context(), secret)
		wantErr(t, tt.after.String()+" after the beginning", err, tt.want)
	}
	f.now = started
	for _, scopes := range [][]Scope{nil, {"write"}, {ScopeRead, ""}} {
		_, _, err := make(scopes, started.Add(month))
		wantErr(t, "bad scopes", err, ErrScope)
	}
	_, _, err = make([]Scope{ScopeAdmin}, started.Add(month))
	wantErr(t, "an admin's token for another", err, ErrNotAdmin)
	for _, end := range []time.Time{{}, started, started.Add(maxTokenLife + 1)} {
		_, _, err := make([]Scope{ScopeRead}, end)
		wantErr(t, "a bad end", err, ErrLifetime)
	}
	for _, wrong := range []string{"", secret[:len(secret)-1], strings.TrimPrefix(secret, TokenPrefix), secret + " "} {
		_, _, err := f.Token(t.Context(), wrong)
		wantErr(t, "a wrong token", err, ErrNoToken)
	}
}

func TestTokenIsRevokedAndListed(t *testing.T) {
	f := newFixture(t)
	ann, bob := f.add(t, "ann@example.com", true), f.add(t, "bob@example.com", false)
	secret, token, err := f.CreateToken(t.Context(), ann.Actor(), ann.ID, "", []Scope{ScopeAdmin}, f.now.Add(time.Hour))
	wantErr(t, "make a token", err, nil)
	wantErr(t, "by another person", f.RevokeToken(t.Context(), bob.Actor(), bob.ID, token.ID), ErrNoToken)
	f.now = f.now.Add(seenEvery)
	if used, p, err := f.Token(t.Context(), secret); err != nil || p.ID != ann.ID || !used.UsedAt.Equal(f.now) {
		t.Errorf("used: %+v of %+v, %v", used, p, err)
	}
	for range 2 {
		wantErr(t, "revoke", f.RevokeToken(t.Context(), ann.Actor(), 0, token.ID), nil)
	}
	_, _, err = f.Token(t.Context(), secret)
	wantErr(t, "the revoked token", err, ErrNoToken)
	if list, err := f.Tokens(t.Context(), ann.ID); err != nil || len(list) != 1 || list[0].RevokedAt.IsZero() || list[0].UsedAt.IsZero() {
		t.Errorf("tokens: %+v, %v", list, err)
	}
	if list, err := f.Tokens(t.Context(), bob.ID); err != nil || len(list) != 0 {
		t.Errorf("another person's tokens: %+v, %v", list, err)
	}
}

func TestTokenIsSeenEveryFiveMinutes(t *testing.T) {
	f := newFixture(t)
	ann := f.add(t, "ann@example.com", true)
	secret, _, err := f.CreateToken(t.Context(), ann.Actor(), ann.ID, "", []Scope{ScopeRead}, f.now.Add(time.Hour))
	wantErr(t, "make a token", err, nil)
	started := f.now
	for _, tt := range []struct{ after, used time.Duration }{
		{0, 0}, {seenEvery - time.Second, 0}, {seenEvery, seenEvery}, {2*seenEvery - time.Second, seenEvery}, {3 * seenEvery, 3 * seenEvery},
	} {
		f.now = started.Add(tt.after)
		used, _, err := f.Token(t.Context(), secret)
		stored, listErr := f.Tokens(t.Context(), ann.ID)
		if err != nil || listErr != nil || used.UsedAt.Sub(started) != tt.used || !stored[0].UsedAt.Equal(used.UsedAt) {
			t.Errorf("after %v: used after %v, stored %v, want %v; %v, %v", tt.after, used.UsedAt.Sub(started), stored[0].UsedAt, tt.used, err, listErr)
		}
	}
}
