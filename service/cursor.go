package service

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"minutebook/internal/signature"
)

// errCursor is the answer to any cursor that this list did not give to this
// caller with these filters.
var errCursor = badRequest("cursor is not valid for this request")

// cursors seals the position after which a list goes on. A position is a
// keyset (the sort key of the last item shown), so rows that arrive meanwhile
// neither shift nor repeat a page. It is signed together with the list, the
// caller and the filters, and valid with those only; it does not lapse.
type cursors struct{ key signature.Key }

// seal returns the opaque cursor for the position.
func (c cursors) seal(list, caller, filters string, position ...string) string {
	fields := make([]string, len(position))
	for i := range position {
		fields[i] = url.QueryEscape(position[i]) // so that no field holds the separator
	}
	key := strings.Join(fields, "\x00")
	sig := c.key.Sign("cursor", list, caller, filters, key)
	return base64.RawURLEncoding.EncodeToString([]byte(key)) + "." + sig
}

// open returns the position that seal was given, or errCursor.
func (c cursors) open(cursor, list, caller, filters string, fields int) ([]string, error) {
	text, sig, found := strings.Cut(cursor, ".")
	if !found {
		return nil, errCursor
	}
	key, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || !c.key.IsValid(sig, "cursor", list, caller, filters, string(key)) {
		return nil, errCursor
	}
	position := strings.Split(string(key), "\x00")
	if len(position) != fields {
		return nil, errCursor
	}
	for i := range position {
		if position[i], err = url.QueryUnescape(position[i]); err != nil {
			return nil, errCursor
		}
	}
	return position, nil
}

// filterKey writes the named parameters of a query in one canonical form: the
// order of values, repetitions and the spelling of brackets do not matter.
func filterKey(q url.Values, names ...string) string {
	canon := url.Values{}
	for _, name := range names {
		values := slices.Clone(q[name])
		slices.Sort(values)
		if values = slices.Compact(values); len(values) > 0 {
			canon[name] = values
		}
	}
	return canon.Encode()
}
