package web

import (
	"io"
	"net/url"
	"strconv"
	"time"

	"minutebook/internal/signature"
)

// mediaLife is how long a media address is valid: longer than a long meeting. A
// page that stays open longer asks for a new one.
const mediaLife = 12 * time.Hour

// signer signs and checks addresses of recordings. Its key lives as long as the
// process.
type signer struct{ key signature.Key }

func newSigner(random io.Reader) (*signer, error) {
	s := &signer{make(signature.Key, 32)}
	_, err := io.ReadFull(random, s.key)
	return s, err
}

// signAddress returns the path and query of a blob, valid for mediaLife. The expiry
// is rounded to the hour, so that a reloaded page finds the recording in the
// browser's cache.
func (s *signer) signAddress(sha, contentType string, now time.Time) string {
	expires := strconv.FormatInt(now.Truncate(time.Hour).Add(mediaLife+time.Hour).Unix(), 10)
	q := url.Values{"type": {contentType}, "expires": {expires}, "signature": {s.key.Sign("media", sha, contentType, expires)}}
	return "/media/" + url.PathEscape(sha) + "?" + q.Encode()
}

// check tells whether an address was signed here and has not expired.
func (s *signer) check(sha string, q url.Values, now time.Time) (genuine, fresh bool) {
	if !s.key.IsValid(q.Get("signature"), "media", sha, q.Get("type"), q.Get("expires")) {
		return false, false
	}
	expires, err := strconv.ParseInt(q.Get("expires"), 10, 64)
	return err == nil, err == nil && now.Unix() < expires
}
