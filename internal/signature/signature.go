// Package signature signs texts that this program gives out and gets back, such as
// links and cursors, so that nobody else can make or change one.
package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// Key makes signatures by HMAC-SHA256. Each purpose has a key of its own that is
// derived from it. Keys are secret and at least 32 random bytes.
type Key []byte

// Sign returns the signature of fields for a purpose, as text for URLs. Every field
// is preceded by its length, so that no two lists of fields sign alike.
func (k Key) Sign(purpose string, fields ...string) string {
	derived := hmac.New(sha256.New, k)
	derived.Write([]byte(purpose))
	mac := hmac.New(sha256.New, derived.Sum(nil))
	for _, f := range fields {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(f))))
		mac.Write([]byte(f))
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// IsValid tells in constant time whether signature is the one of the fields. It
// compares the texts, so that no other spelling of the same bytes passes.
func (k Key) IsValid(signature, purpose string, fields ...string) bool {
	return hmac.Equal([]byte(signature), []byte(k.Sign(purpose, fields...)))
}
