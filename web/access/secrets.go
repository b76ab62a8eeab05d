package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// secretBytes is the length of a secret before its encoding: 256 bits.
const secretBytes = 32

// newSecret returns a random secret that can stand in an address, a cookie and a
// header, with its hash.
func newSecret(prefix string) (secret string, hash []byte) {
	raw := make([]byte, secretBytes)
	rand.Read(raw) // never fails
	secret = prefix + base64.RawURLEncoding.EncodeToString(raw)
	return secret, hashSecret(secret)
}

// hashSecret returns the form in which a secret is kept and found. A secret is
// random and long, so that a plain hash cannot be turned back, and a lookup by the
// hash tells nothing by its time.
func hashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
