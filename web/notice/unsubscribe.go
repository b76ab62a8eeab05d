package notice

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"minutebook/archive/notes"
)

// UnsubscribePath is the path of the links in mails that end the mails, without the token.
const UnsubscribePath = "/unsubscribe/"

// unsubscribeToken returns the token that ends the mails to the address of a saved search:
// the search's number, and a signature by its secret. It is "" for a search without a
// secret. Another address, or asking for the mails again, makes another token.
func unsubscribeToken(saved notes.SavedSearch) string {
	if saved.Secret == "" {
		return ""
	}
	id := strconv.FormatInt(saved.ID, 10)
	mac := hmac.New(sha256.New, []byte(saved.Secret))
	mac.Write([]byte("unsubscribe " + id + " " + saved.Notify))
	return id + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// UnsubscribeSearch returns the number of the saved search that a token names, or 0.
func UnsubscribeSearch(token string) int64 {
	number, _, _ := strings.Cut(token, ".")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// EndsMails reports whether a token ends the mails to the address of a saved search.
func EndsMails(token string, saved notes.SavedSearch) bool {
	want := unsubscribeToken(saved)
	return want != "" && strings.HasPrefix(saved.Notify, "mailto:") && hmac.Equal([]byte(token), []byte(want))
}
