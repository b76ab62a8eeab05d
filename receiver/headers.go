package receiver

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	maxID         = 256  // bytes of a webhook-id
	maxSignatures = 4096 // bytes of webhook-signature, more than thirty signatures
	tolerance     = 5 * time.Minute
)

// signed holds the headers of a signed delivery.
type signed struct {
	id string
	at time.Time
}

// readSigned checks the headers of a delivery as far as that goes without its
// body: malformed ones are refused, and those that no body could verify.
func readSigned(h http.Header, now time.Time) (signed, refusal) {
	id, ok1 := singleValue(h, "Webhook-Id")
	stamp, ok2 := singleValue(h, "Webhook-Timestamp")
	signatures, ok3 := singleValue(h, "Webhook-Signature")
	if !ok1 || !ok2 || !ok3 || !validID(id) || len(signatures) > maxSignatures {
		return signed{}, malformed
	}
	at, ok := readStamp(stamp)
	if !ok {
		return signed{}, malformed
	}
	if d := now.Sub(at); d > tolerance || d < -tolerance || !hasVersion1(signatures) {
		return signed{}, unverified
	}
	return signed{id: id, at: at}, none
}

// singleValue returns the value of a header with exactly one line, since it is unknown
// which of two lines was signed.
func singleValue(h http.Header, name string) (string, bool) {
	v := h[name]
	if len(v) != 1 || v[0] == "" {
		return "", false
	}
	return v[0], true
}

// validID accepts printable ASCII without spaces and without a dot, which
// separates the id from the timestamp in the signed content.
func validID(id string) bool {
	if len(id) > maxID {
		return false
	}
	for i := range len(id) {
		if c := id[i]; c <= ' ' || c > '~' || c == '.' {
			return false
		}
	}
	return id != ""
}

// readStamp reads Unix seconds in their one decimal form: the library signs the
// number and not the text, and would take "+5" for 5.
func readStamp(s string) (time.Time, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || n > 1<<53 || strconv.FormatInt(n, 10) != s {
		return time.Time{}, false
	}
	return time.Unix(n, 0), true
}

// hasVersion1 reports whether any of the signatures could be one: HMAC-SHA256
// in base64 is 44 characters.
func hasVersion1(signatures string) bool {
	for s := range strings.SplitSeq(signatures, " ") {
		if rest, ok := strings.CutPrefix(s, "v1,"); ok && len(rest) >= 44 {
			return true
		}
	}
	return false
}

// selectHeaders returns the headers that are stored with a delivery.
func selectHeaders(h http.Header) http.Header {
	out := http.Header{}
	for _, name := range []string{"Content-Type", "User-Agent", "Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"} {
		for _, v := range h[name] {
			if len(v) <= maxSignatures {
				out.Add(name, v)
			}
		}
	}
	return out
}
