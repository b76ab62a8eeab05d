package access

import (
	"bytes"
	"database/sql"
	"encoding/hex"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive/archivetest"
	"minutebook/internal/sqlite/frozen"
)

// TestEveryFrozenAccessIsUpgraded opens access.db as earlier versions left it: the schema is
// then that of a new one, everybody is there, and the chain of the audit is whole.
func TestEveryFrozenAccessIsUpgraded(t *testing.T) {
	fresh := newFixture(t)
	frozen.Each(t, func(t *testing.T, file, dir string) {
		f := openFixture(t, dir)
		frozen.Compare(t, file, f.db, fresh.db)
		f.checkChain(t, "at the end")
	})
}

// TestWaysInOfTheFirstRelease: who could enter with 0.9.0 enters by the same password, session,
// token, invitation, identity and passkey, and nobody else.
func TestWaysInOfTheFirstRelease(t *testing.T) {
	f := &fixture{archive: archivetest.Open(t, frozen.Directory(t, "0.9.0")), now: archivetest.Epoch}
	var err error
	f.DB, err = Open(t.Context(), Options{Archive: f.archive, Now: func() time.Time { return f.now }, AccountKeys: [][]byte{bytes.Repeat([]byte{9}, 32)}, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, names := t.Context(), []string{"", "Maren Okafor", "Priya Raman", "Lucía Ferrer"}
	enters := func(way string, person int64, p Person, err error) {
		t.Helper()
		if err != nil || p.ID != person || p.Name != names[person] {
			t.Errorf("%s opens for %+v, %v; want %s", way, p, err, names[person])
		}
	}
	p, err := f.CheckPassword(ctx, "maren.okafor@tidewell.example", "a bucket full of springs")
	enters("a password", 1, p, err)
	p, err = f.CheckPassword(ctx, "priya@old.example", "a bucket full of springs 2")
	enters("a password with an alias", 2, p, err)
	_, p, err = f.Session(ctx, "pfvLRGzT2_hjC8BWi5GJzzGssNG6bPQOP4tTQqub8Qs")
	enters("a session", 1, p, err)
	token, p, err := f.Token(ctx, "mbt_qFty5vyWTnmp3NBWjDLQ8JoipEAQsU8Bv6x2aKYI1jc")
	enters("a token", 1, p, err)
	if !token.Has(ScopeExport) || token.Has(ScopeAdmin) || token.Label != "statistics" {
		t.Errorf("the token is %+v", token)
	}
	p, err = f.Invitation(ctx, "0nfpkLRG0VoDg2IDVPA4PjaV2lVn1YOM7DJV0zzbf1k")
	enters("an invitation", 3, p, err)
	p, err = f.PersonByClaims(ctx, Claims{Issuer: "https://id.tidewell.example", Subject: "lf-7", Address: "another@tidewell.example", Verified: true}, Entrance{Join: JoinInvited})
	enters("an identity", 3, p, err)
	handle, err := hex.DecodeString("b196e6ef7824fc1034518189ba6466298b155c38eb071e5fb8ca962f5e8524ab")
	if err != nil {
		t.Fatal(err)
	}
	owner, err := f.PasskeyOwnerByHandle(ctx, handle)
	if err != nil || owner.ID != 2 || len(owner.WebAuthnCredentials()) != 1 || string(owner.WebAuthnCredentials()[0].PublicKey) != "public" {
		t.Errorf("a passkey opens for %+v, %v", owner, err)
	}
	_, _, err = f.Token(ctx, "mbt_LWN-7gCjL7OrdtkeeNFVo42hqz4nMyexPYi4M0Q0TxY")
	wantErr(t, "a revoked token", err, ErrNoToken)
	_, err = f.Invitation(ctx, "uxCa7yAoJ1fm_doFj1WgJo7wM7e3MTcefWra8doQt8U")
	wantErr(t, "a used invitation", err, ErrUsed)
	_, err = f.CheckPassword(ctx, "former@tidewell.example", "a bucket full of springs")
	wantErr(t, "a removed person", err, ErrSignIn)

	const service = "http://127.0.0.1:39589/external/v1"
	account, err := f.AccountOf(ctx, service, 2)
	if err != nil || account.Name != "person-2" || account.Parked != "" {
		t.Fatalf("account %+v, %v", account, err)
	}
	if secret, err := f.AccountSecret(ctx, service, account.ID); err != nil || string(secret) != "mbk_TUW626ZGtCycrgIqWHJXYgZ7Yf42GBiVA3ci9VEf2bY" {
		t.Errorf("its secret is %q, %v", secret, err)
	}
}

// TestAnIdentityOfBeforeAnAliasWasTaken has a person of 0.9.0 whose alias was taken after an
// identity had entered. Nobody knows by which address that was: it enters anew, by an address
// that the person has.
func TestAnIdentityOfBeforeAnAliasWasTaken(t *testing.T) {
	dir := frozen.Directory(t, "0.9.0")
	db, err := sql.Open("sqlite3", filepath.Join(dir, Name))
	if err == nil {
		_, err = db.Exec(`INSERT INTO audit (at, actor, kind, ids, previous, hash) SELECT linked_at + 1, 'command', ?, '{"person":3}', x'', x'' FROM identities`, AddressRemoved)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	f := openFixture(t, dir)
	lucia, err := f.Person(t.Context(), 3)
	wantErr(t, "read the person", err, nil)
	claims := Claims{Issuer: "https://id.tidewell.example", Subject: "lf-7", Address: "another@tidewell.example", Verified: true}
	_, err = f.PersonByClaims(t.Context(), claims, Entrance{Join: JoinInvited})
	wantErr(t, "by an address that the person does not have", err, ErrNotInvited)
	claims.Address = lucia.Address()
	if p, err := f.PersonByClaims(t.Context(), claims, Entrance{Join: JoinInvited}); err != nil || p.ID != lucia.ID {
		t.Errorf("by the person's address enters person %d, %v", p.ID, err)
	}
}
