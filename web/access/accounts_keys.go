package access

import (
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"
)

// AccountKeySize is the length of a key for accounts, in bytes.
const AccountKeySize = 32

// ParseAccountKeys reads the keys in the text of a file: one on each line, in
// hexadecimal. The first encrypts; the others decrypt older secrets.
// Empty lines and those that begin with # are skipped.
func ParseAccountKeys(text string) (keys [][]byte, err error) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		key, err := hex.DecodeString(line)
		if err != nil || len(key) != AccountKeySize { // the error would show a part of the key
			return nil, errors.New("a key has 64 hexadecimal digits on a line of its own: make one with `openssl rand -hex 32`")
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("there is no key in it: make one with `openssl rand -hex 32`")
	}
	return keys, nil
}

// accountKey encrypts and recognises the secrets of accounts.
type accountKey struct {
	aead cipher.AEAD
	id   []byte // tells which key encrypted a secret, and nothing of the key
	mark []byte // makes fingerprints
}

func newAccountKey(key []byte) (k accountKey, err error) {
	derive := func(purpose string) []byte {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte("minutebook accounts: " + purpose))
		return mac.Sum(nil)
	}
	k.id, k.mark = derive("id")[:8], derive("fingerprint")
	if k.aead, err = chacha20poly1305.NewX(derive("encryption")); err != nil {
		return k, fmt.Errorf("use the key for accounts: %w", err)
	}
	return k, nil
}

// fingerprint returns a value that is the same for the same secret alone. Without the
// key nobody can try secrets on it.
func (k accountKey) fingerprint(secret []byte) []byte {
	mac := hmac.New(sha256.New, k.mark)
	mac.Write(secret)
	return mac.Sum(nil)
}

// seal encrypts a secret for one account: as it stands in the row of another one it
// cannot be decrypted.
func (k accountKey) seal(a Account, secret []byte) []byte {
	sealed := append([]byte{}, k.id...)
	nonce := make([]byte, chacha20poly1305.NonceSizeX)
	rand.Read(nonce) // never fails
	return k.aead.Seal(append(sealed, nonce...), nonce, secret, a.bound())
}

// errOtherKey means that a secret was encrypted with a key that is not given.
var errOtherKey = errors.New("the key with which its secret was encrypted is not in the file that [web.accounts] names: connect it again")

// openSecret decrypts a secret with the key that encrypted it, and reports whether that is
// not the first.
func (d *DB) openSecret(a Account, sealed []byte) (secret []byte, old bool, err error) {
	for i, k := range d.keys {
		rest, ok := strings.CutPrefix(string(sealed), string(k.id))
		if !ok || len(rest) < chacha20poly1305.NonceSizeX {
			continue
		}
		nonce, box := []byte(rest[:chacha20poly1305.NonceSizeX]), []byte(rest[chacha20poly1305.NonceSizeX:])
		if secret, err = k.aead.Open(nil, nonce, box, a.bound()); err != nil {
			return nil, false, errors.New("its secret was changed or belongs to another account: connect it again")
		}
		return secret, i > 0, nil
	}
	return nil, false, errOtherKey
}

// bound returns the context of a secret: the person, the address, the service and the
// kind.
func (a Account) bound() []byte {
	// Numbers and strings cannot fail to encode.
	text, _ := json.Marshal([]any{"minutebook account", 1, a.Person, a.Address, a.BaseURL, a.Kind})
	return text
}
