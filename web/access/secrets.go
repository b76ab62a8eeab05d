package access

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
)

// secretBytes is the length of a secret before its encoding: 256 bits.
const secretBytes = 32

// newSecret returns a random secret that can stand in an address, a cookie and a
// header, with its hash.
func (d *DB) newSecret(prefix string) (secret string, hash []byte, err error) {
	raw := make([]byte, secretBytes)
	if _, err := io.ReadFull(d.rand, raw); err != nil {
		return "", nil, fmt.Errorf("make a secret: %w", err)
	}
	secret = prefix + base64.RawURLEncoding.EncodeToString(raw)
	return secret, hashSecret(secret), nil
}

// hashSecret returns the form in which a secret is kept and found. A secret is
// random and long, so that a plain hash cannot be turned back, and a lookup by the
// hash tells nothing by its time.
func hashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
