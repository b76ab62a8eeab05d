package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var (
	errNotJSON   = errors.New("not valid JSON")
	errNotObject = errors.New("not a JSON object")
)

// eachMember calls fn for every member of the JSON object raw, in order, with
// its decoded key and the verbatim bytes of key and value. It fails, before the
// first call, on what is not valid JSON or not an object.
func eachMember(raw []byte, fn func(key string, rawKey, value []byte)) error {
	if !json.Valid(raw) {
		return errNotJSON
	}
	if raw[skipSpace(raw, 0)] != '{' {
		return errNotObject
	}
	scanMembers(raw, fn)
	return nil
}

// Members calls fn for every member of a JSON object, in order, with its key as
// CanonicalHash reads it and the verbatim bytes of its value. It fails, before
// the first call, on what is not valid JSON or not an object.
func Members(raw []byte, fn func(key string, value []byte)) error {
	return eachMember(raw, func(key string, _, value []byte) { fn(key, value) })
}

// scanMembers is eachMember for what is known to be a valid JSON object.
func scanMembers(raw []byte, fn func(key string, rawKey, value []byte)) {
	i := skipSpace(raw, skipSpace(raw, 0)+1)
	for raw[i] != '}' {
		end := skipValue(raw, i)
		rawKey := raw[i:end]
		i = skipSpace(raw, skipSpace(raw, end)+1) // the colon
		end = skipValue(raw, i)
		fn(decodeString(rawKey), rawKey, raw[i:end])
		i = skipSpace(raw, end)
		if raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
}

// eachElement calls fn with the verbatim bytes of every element of the valid
// JSON array raw.
func eachElement(raw []byte, fn func(value []byte)) {
	i := skipSpace(raw, skipSpace(raw, 0)+1)
	for raw[i] != ']' {
		end := skipValue(raw, i)
		fn(raw[i:end])
		i = skipSpace(raw, end)
		if raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
}

// everyElement tells whether fn is true of every element of the valid JSON array
// raw; it stops at the first of which it is not.
func everyElement(raw []byte, fn func(value []byte) bool) bool {
	i := skipSpace(raw, skipSpace(raw, 0)+1)
	for raw[i] != ']' {
		end := skipValue(raw, i)
		if !fn(raw[i:end]) {
			return false
		}
		i = skipSpace(raw, end)
		if raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return true
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the end of the value that begins at i in valid JSON.
func skipValue(b []byte, i int) int {
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		depth := 0
		for ; i < len(b); i++ {
			switch b[i] {
			case '"':
				i = skipString(b, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
		return i
	}
	n := bytes.IndexAny(b[i:], " \t\r\n,]}")
	if n < 0 {
		return len(b)
	}
	return i + n
}

func skipString(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// decodeString returns the text of a valid JSON string literal.
func decodeString(lit []byte) string {
	if bytes.IndexByte(lit, '\\') < 0 {
		return strings.ToValidUTF8(string(lit[1:len(lit)-1]), "\uFFFD")
	}
	var s string
	if json.Unmarshal(lit, &s) != nil {
		return ""
	}
	return s
}

// parseID reads a positive identifier, written as a number or, leniently, as a
// string of digits.
func parseID(raw []byte) (int64, error) {
	lit := string(bytes.TrimSpace(raw))
	if len(lit) > 1 && lit[0] == '"' {
		lit = decodeString([]byte(lit))
	}
	id, err := strconv.ParseInt(lit, 10, 64)
	if err != nil || id <= 0 {
		return 0, fmt.Errorf("read recording_id %q: want a positive integer", clip(lit, 40))
	}
	return id, nil
}
