package service

import (
	"crypto/sha256"
	"crypto/subtle"
)

// isSameSecret compares two secrets in constant time.
func isSameSecret(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// hashSecret is how credentials are stored: they are random and long, so a
// plain hash cannot be turned back.
func hashSecret(secret string) []byte {
	h := sha256.Sum256([]byte(secret))
	return h[:]
}
