package mcp

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"minutebook/search"
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

// shortenAround is shorten for a text of which a search shows a snippet: it leaves out the
// beginning where the first hit of the snippet is too far from it.
func shortenAround(text string, snippet []search.Span) string {
	if len(text) <= maxItem {
		return text
	}
	if len(snippet) > 0 && snippet[0] == (search.Span{Text: "… "}) {
		snippet = snippet[1:]
	}
	piece, hit := "", -1
	for _, s := range snippet {
		if s.Hit && hit < 0 {
			hit = len(piece)
		}
		piece += s.Text
	}
	begin := strings.Index(text, strings.TrimSuffix(piece, " …"))
	if hit < 0 || begin < 0 || begin+len(piece) <= maxItem {
		return shorten(text)
	}
	from := min(begin+hit-maxItem/2, len(text)-maxItem)
	for !utf8.RuneStart(text[from]) {
		from++
	}
	return "…" + shorten(text[from:])
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
