package mcp

import (
	"encoding/json"
	"unicode/utf8"
)

// The bounds of answers, in bytes.
const (
	maxText = 20_000 // the talk in an answer, with speakers and links: some ten minutes
	maxPart = 24_000 // a summary, and each list of a meeting
	maxItem = 4_000  // a text in a list
)

// cutText returns the beginning of a text, at most that many bytes, in whole characters.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// shorten returns a text of a list, cut with an ellipsis where it is too long.
func shorten(text string) string {
	if cut := cutText(text, maxItem); len(cut) < len(text) {
		return cut + "…"
	}
	return text
}

// cutList returns the beginning of a list, at most maxPart in JSON.
func cutList[T any](list []T) []T {
	size := 0
	for i, item := range list {
		if size += measure(item); size > maxPart {
			return list[:i]
		}
	}
	return list
}

// measure returns the length of a part of an answer in JSON.
func measure(part any) int {
	raw, _ := json.Marshal(part) //nolint:errchkjson // texts and numbers alone
	return len(raw)
}
