package api

import (
	"bytes"
	"encoding/json"
	"slices"

	"minutebook/internal/rawjson"
)

// Empty tells whether a part says nothing, and so must never replace one that
// says something: it is absent, null, a blank string, an array or object
// without anything in it or with only empty things in it, a summary without
// Markdown, an utterance without text (what is no string is none), CRM matches
// that hold only the reason why there are none. What is not JSON is not empty.
func Empty(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return true
	}
	return json.Valid(raw) && empty(raw)
}

// Judge returns [rawjson.Hash] and [Empty]. ok tells whether raw is JSON; without
// it the hash is that of the bytes, and raw is not empty.
func Judge(raw []byte) (hash [32]byte, isEmpty, ok bool) {
	hash, ok = rawjson.Hash(raw)
	return hash, ok && empty(bytes.TrimSpace(raw)), ok
}

func empty(raw []byte) bool {
	switch raw[0] {
	case 'n':
		return true
	case '"':
		return len(bytes.TrimSpace([]byte(rawjson.Text(raw)))) == 0
	case '[':
		return !anyElement(raw, func(v []byte) bool { return !empty(v) })
	case '{':
		return emptyObject(raw)
	}
	return false
}

// emptyObject judges an object by what carries its content, where the keys tell
// what it is, and otherwise by all of its values.
func emptyObject(raw []byte) bool {
	members := map[string][]byte{}
	list, _ := rawjson.Members(raw)
	all := true
	for _, m := range list {
		members[m.Key] = m.Value
		all = all && empty(m.Value)
	}
	has := func(key string) bool { _, ok := members[key]; return ok }
	blank := func(key string) bool { v, ok := members[key]; return !ok || empty(v) }
	text := func(key string) bool { return !blank(key) && members[key][0] == '"' }
	switch {
	case all:
		return true
	case has("markdown_formatted"):
		return !text("markdown_formatted")
	case has("template_name"):
		return len(members) == 1
	case has("speaker"):
		return !text("text")
	case has("error"):
		delete(members, "error")
		for key := range members {
			if !blank(key) {
				return false
			}
		}
		return true
	}
	return false
}

// HasContent tells whether a part says what it is there for: a transcript a text,
// a summary Markdown, an action item its description, any other list or the CRM
// matches at least one object that is not empty. Whatever else a service sends in
// its place, such as a notice that it is still at work, must replace no content.
func HasContent(part Part, raw json.RawMessage) bool {
	return !Empty(raw) && fits(part, bytes.TrimSpace(raw))
}

// JudgePart is Judge for a part: one without content counts as empty.
func JudgePart(part Part, raw []byte) (hash [32]byte, isEmpty, ok bool) {
	hash, isEmpty, ok = Judge(raw)
	return hash, isEmpty || ok && !fits(part, bytes.TrimSpace(raw)), ok
}

// fits judges valid JSON that is not empty.
func fits(part Part, raw []byte) bool {
	switch part {
	case PartTranscript:
		return listSays(raw, "text")
	case PartSummary:
		return says(raw, "markdown_formatted")
	case PartActionItems:
		return listSays(raw, "description")
	case PartHighlights:
		return listSays(raw, "")
	case PartCRM:
		return slices.ContainsFunc([]string{"contacts", "companies", "deals"}, func(key string) bool {
			list := rawjson.Find(raw, key)
			return list != nil && listSays(list, "")
		})
	}
	return raw[0] == '{'
}

// listSays tells whether raw is an array of which an element says something.
func listSays(raw []byte, key string) bool {
	return anyElement(raw, func(v []byte) bool { return says(v, key) })
}

// anyElement tells whether fn is true of an element of an array.
func anyElement(raw []byte, fn func([]byte) bool) bool {
	for v := range rawjson.Elements(raw) {
		if fn(v) {
			return true
		}
	}
	return false
}

// says tells whether raw is an object whose member of that name is a text that is
// not blank; with no name, any object that is not empty.
func says(raw []byte, key string) bool {
	if key == "" {
		return raw[0] == '{' && !empty(raw)
	}
	text := rawjson.Find(raw, key)
	return text != nil && text[0] == '"' && !empty(text)
}
