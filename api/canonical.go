package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// CanonicalHash identifies what JSON says, whatever its spacing, key order and
// escapes: SHA-256 over the compact form with sorted keys. Numbers count as
// they are written, so 1.0 and 1 differ. Of a repeated key the last one counts.
// What is not JSON has the hash of its bytes, apart from all JSON.
func CanonicalHash(raw []byte) [32]byte {
	if !json.Valid(raw) {
		return sha256.Sum256(append([]byte("not json\x00"), raw...))
	}
	return canonicalHash(bytes.TrimSpace(raw))
}

// canonicalHash is CanonicalHash of valid JSON without space around it.
func canonicalHash(raw []byte) [32]byte {
	return sha256.Sum256(appendCanonical(make([]byte, 0, len(raw)), raw))
}

func appendCanonical(dst, raw []byte) []byte {
	switch raw[0] {
	case '{':
		return appendCanonicalObject(dst, raw)
	case '[':
		dst = append(dst, '[')
		first := true
		eachElement(raw, func(v []byte) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = appendCanonical(dst, v)
		})
		return append(dst, ']')
	case '"':
		return appendCanonicalString(dst, raw)
	}
	return append(dst, raw...)
}

type member struct {
	key    string
	rawKey []byte
	value  []byte
}

func appendCanonicalObject(dst, raw []byte) []byte {
	members := make([]member, 0, 8)
	scanMembers(raw, func(key string, rawKey, value []byte) {
		members = append(members, member{key, rawKey, value})
	})
	slices.SortStableFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
	dst = append(dst, '{')
	first := true
	for i, m := range members {
		if i+1 < len(members) && members[i+1].key == m.key {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendCanonicalString(dst, m.rawKey), ':')
		dst = appendCanonical(dst, m.value)
	}
	return append(dst, '}')
}

// appendCanonicalString writes a string literal with the fewest escapes: quote,
// backslash and control characters.
func appendCanonicalString(dst, lit []byte) []byte {
	if bytes.IndexByte(lit, '\\') < 0 && utf8.Valid(lit) {
		return append(dst, lit...)
	}
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range []byte(decodeString(lit)) {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
