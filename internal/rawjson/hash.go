package rawjson

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
	"unicode/utf8"
)

// Hash identifies JSON, whatever its spacing, key order and escapes: SHA-256
// over the compact form with sorted keys. Numbers count as they are written, so
// 1.0 and 1 differ. Of a repeated key the last one counts. Without valid JSON
// the hash is that of the bytes, and differs from that of all JSON.
func Hash(raw []byte) (hash [32]byte, valid bool) {
	d := newDecoder(raw)
	defer d.release()
	canonical := d.appendCanonical(make([]byte, 0, len(raw)))
	if !d.isAtEnd() {
		return sha256.Sum256(append([]byte("not json\x00"), raw...)), false
	}
	return sha256.Sum256(canonical), true
}

// Equal reports whether two texts have the same [Hash].
func Equal(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	hashA, _ := Hash(a)
	hashB, _ := Hash(b)
	return hashA == hashB
}

// appendCanonical reads a value and appends its canonical form.
func (d *decoder) appendCanonical(dst []byte) []byte {
	switch d.PeekKind() {
	case '{':
		return d.appendObject(dst)
	case '[':
		d.enter()
		dst = append(dst, '[')
		begin := len(dst)
		for d.hasMore() {
			dst = append(d.appendCanonical(dst), ',')
		}
		d.leave()
		return append(withoutComma(dst, begin), ']')
	}
	v := d.readValue()
	if len(v) > 0 && v[0] == '"' {
		return appendString(dst, v)
	}
	return append(dst, v...)
}

// canonicalMember is where the canonical form of a member lies.
type canonicalMember struct {
	key      string
	from, to int
}

func (d *decoder) appendObject(dst []byte) []byte {
	d.enter()
	var few [8]canonicalMember
	members := few[:0]
	dst = append(dst, '{')
	begin := len(dst)
	for d.hasMore() {
		key := d.readValue()
		if key == nil {
			break
		}
		from := len(dst)
		dst = d.appendCanonical(append(appendString(dst, key), ':'))
		members = append(members, canonicalMember{Text(key), from - begin, len(dst) - begin})
		dst = append(dst, ',')
	}
	d.leave()
	if !isRising(members) {
		dst = sortMembers(dst, begin, members)
	}
	return append(withoutComma(dst, begin), '}')
}

// isRising reports whether keys are sorted and differ.
func isRising(members []canonicalMember) bool {
	for i := 1; i < len(members); i++ {
		if members[i-1].key >= members[i].key {
			return false
		}
	}
	return true
}

// sortMembers brings members, which follow each other from begin, into the order
// of their keys. Of those with the same key it keeps the last one.
func sortMembers(dst []byte, begin int, members []canonicalMember) []byte {
	slices.SortStableFunc(members, func(a, b canonicalMember) int { return strings.Compare(a.key, b.key) })
	unsorted := bytes.Clone(dst[begin:])
	dst = dst[:begin]
	for i, m := range members {
		if i+1 == len(members) || members[i+1].key != m.key {
			dst = append(append(dst, unsorted[m.from:m.to]...), ',')
		}
	}
	return dst
}

func withoutComma(dst []byte, begin int) []byte {
	if len(dst) > begin {
		return dst[:len(dst)-1]
	}
	return dst
}

// appendString writes a string literal with the fewest escapes: quote, backslash
// and control characters.
func appendString(dst, literal []byte) []byte {
	if bytes.IndexByte(literal, '\\') < 0 && utf8.Valid(literal) {
		return append(dst, literal...)
	}
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range []byte(Text(literal)) {
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
