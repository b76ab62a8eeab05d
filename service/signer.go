package service

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
)

// signer makes the signatures of cursors and media links, each
// purpose with a key of its own derived from one secret of this data directory.
type signer struct{ secret []byte }

// sign returns the signature of the fields for a purpose, as text. Every field
// is preceded by its length, so that no two lists of fields sign alike.
func (s signer) sign(purpose string, fields ...string) string {
	derive := hmac.New(sha256.New, s.secret)
	derive.Write([]byte(purpose))
	mac := hmac.New(sha256.New, derive.Sum(nil))
	for _, f := range fields {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(f))))
		mac.Write([]byte(f))
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// valid reports in constant time whether signature is the one of the fields.
// It compares the text, so that no other spelling of the same bytes passes.
func (s signer) valid(signature, purpose string, fields ...string) bool {
	return isSameSecret(signature, s.sign(purpose, fields...))
}

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
