package api

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"minutebook/internal/rawjson"
)

// Empty reports whether a value has no content, whatever it is of, and so must never
// replace one that has: it is absent, null, a blank string, or an array or object with no
// members or only empty ones. The reason for an absence ("error") is no content. Bytes that
// are not JSON are not empty. Of a part, see [HasContent].
func Empty(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return true
	case len(raw) == 1: // a digit, or no JSON
		return false
	}
	return isEmptyPart(raw) && json.Valid(raw) // isEmptyPart may call bytes empty that are no JSON
}

// Judge returns [rawjson.Hash] and [Empty]. ok reports whether raw is JSON. If it is
// not, the hash is that of the bytes, and raw is not empty.
func Judge(raw []byte) (hash [32]byte, isEmpty, ok bool) {
	hash, ok = rawjson.Hash(raw)
	return hash, ok && isEmptyPart(bytes.TrimSpace(raw)), ok
}

func isEmptyPart(raw []byte) bool {
	switch raw[0] {
	case 'n':
		return true
	case '"':
		return len(bytes.TrimSpace([]byte(rawjson.Text(raw)))) == 0
	case '[':
		return !anyElement(raw, func(v []byte) bool { return !isEmptyPart(v) })
	case '{':
		members, _ := rawjson.Members(raw)
		return !slices.ContainsFunc(members, func(m rawjson.Member) bool { return m.Key != "error" && !isEmptyPart(m.Value) })
	}
	return false
}

// HasContent reports whether a part has the content of its kind: a transcript text,
// a summary Markdown, an action item its description, any other list or the CRM
// matches at least one object that is not empty. Anything else in its place, such
// as a notice that the service is still working, must replace no content. No key makes a part
// empty that the specification does not name for it: the service adds keys.
func HasContent(part Part, raw json.RawMessage) bool {
	return !Empty(raw) && hasContent(part, bytes.TrimSpace(raw))
}

// JudgePart is [Judge] for a part. A part without content counts as empty.
func JudgePart(part Part, raw []byte) (hash [32]byte, isEmpty, ok bool) {
	hash, isEmpty, ok = Judge(raw)
	return hash, isEmpty || ok && !hasContent(part, bytes.TrimSpace(raw)), ok
}

// hasContent is [HasContent] for valid JSON that is not empty.
func hasContent(part Part, raw []byte) bool {
	switch part {
	case PartTranscript:
		return anyHasText(raw, "text")
	case PartSummary:
		return hasText(raw, "markdown_formatted")
	case PartActionItems:
		return anyHasText(raw, "description")
	case PartHighlights:
		return anyHasText(raw, "")
	case PartCRM:
		return slices.ContainsFunc([]string{"contacts", "companies", "deals"}, func(key string) bool {
			list := rawjson.Find(raw, key)
			return list != nil && anyHasText(list, "")
		})
	}
	return raw[0] == '{'
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// DropBlank removes the elements of a content list that say nothing, such as null.
func DropBlank[T interface{ IsBlank() bool }](list []T) []T {
	return slices.DeleteFunc(list, T.IsBlank)
}

// dropBlank removes the blank elements of a content list that was decoded.
func dropBlank[T interface{ IsBlank() bool }](list *Opt[[]T]) { list.value = DropBlank(list.value) }

// anyHasText reports whether raw is an array with an element that hasText accepts.
func anyHasText(raw []byte, key string) bool {
	return anyElement(raw, func(v []byte) bool { return hasText(v, key) })
}

// anyElement reports whether fn accepts an element of an array.
func anyElement(raw []byte, fn func([]byte) bool) bool {
	for v := range rawjson.Elements(raw) {
		if fn(v) {
			return true
		}
	}
	return false
}

// hasText reports whether raw is an object whose member key is a text that is not
// blank. With an empty key it accepts every object that is not empty.
func hasText(raw []byte, key string) bool {
	if key == "" {
		return raw[0] == '{' && !isEmptyPart(raw)
	}
	text := rawjson.Find(raw, key)
	return text != nil && text[0] == '"' && !isEmptyPart(text)
}
