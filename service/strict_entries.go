package service

import "encoding/json"

// strictEntries tells whether a transcript keeps to section 2.2. The form in
// which services write it is read in one pass; any other is decoded.
func strictEntries(raw json.RawMessage) bool {
	r := reader{raw: raw}
	return r.entries() || decodedEntries(raw)
}

// decodedEntries is strictEntries for whatever is valid JSON.
func decodedEntries(raw json.RawMessage) bool {
	var entries []struct {
		Speaker *struct {
			DisplayName *string `json:"display_name"`
			Email       *string `json:"matched_calendar_invitee_email"`
		} `json:"speaker"`
		Text      *string `json:"text"`
		Timestamp *string `json:"timestamp"`
	}
	if json.Unmarshal(raw, &entries) != nil {
		return false
	}
	for _, e := range entries {
		if e.Speaker == nil || e.Speaker.DisplayName == nil || e.Text == nil ||
			e.Timestamp == nil || !strictOffset(*e.Timestamp) {
			return false
		}
	}
	return true
}

// reader goes once through a JSON text that is written the usual way. Each of
// its methods consumes what it is named for and tells whether it was there; once
// one has failed, where it stands means nothing.
type reader struct {
	raw []byte
	at  int
}

// entries reads a whole transcript.
func (r *reader) entries() bool {
	if !r.mark('[') {
		return false
	}
	if r.mark(']') {
		return r.end()
	}
	for {
		if !r.entry() {
			return false
		}
		if r.mark(']') {
			return r.end()
		}
		if !r.mark(',') {
			return false
		}
	}
}

func (r *reader) entry() bool {
	var speaker, text, timestamp bool
	ok := r.members(func(key string) bool {
		switch key {
		case "speaker":
			speaker = true
			return r.speaker()
		case "text":
			text = true
			_, ok := r.text()
			return ok
		case "timestamp":
			timestamp = true
			value, ok := r.text()
			return ok && strictOffset(string(value))
		}
		return false
	})
	return ok && speaker && text && timestamp
}

func (r *reader) speaker() bool {
	named := false
	ok := r.members(func(key string) bool {
		switch key {
		case "display_name":
			named = true
			_, ok := r.text()
			return ok
		case "matched_calendar_invitee_email":
			if r.null() {
				return true
			}
			_, ok := r.text()
			return ok
		}
		return false
	})
	return ok && named
}

// members reads an object that has some, calling value for each after its key.
func (r *reader) members(value func(key string) bool) bool {
	if !r.mark('{') {
		return false
	}
	for {
		key, ok := r.text()
		if !ok || !r.mark(':') || !value(string(key)) {
			return false
		}
		if r.mark('}') {
			return true
		}
		if !r.mark(',') {
			return false
		}
	}
}

// mark reads a punctuation mark.
func (r *reader) mark(c byte) bool {
	r.space()
	if r.at < len(r.raw) && r.raw[r.at] == c {
		r.at++
		return true
	}
	return false
}

// text reads a string and returns what is between its quotes.
func (r *reader) text() ([]byte, bool) {
	if !r.mark('"') {
		return nil, false
	}
	from := r.at
	for r.at < len(r.raw) {
		switch c := r.raw[r.at]; {
		case c == '"':
			r.at++
			return r.raw[from : r.at-1], true
		case c < ' ':
			return nil, false
		case c == '\\':
			if !r.escape() {
				return nil, false
			}
		default:
			r.at++
		}
	}
	return nil, false
}

// escape reads a backslash and what belongs to it.
func (r *reader) escape() bool {
	if r.at+1 >= len(r.raw) {
		return false
	}
	switch r.raw[r.at+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		r.at += 2
		return true
	case 'u':
		if r.at+6 > len(r.raw) {
			return false
		}
		for _, c := range r.raw[r.at+2 : r.at+6] {
			if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
				return false
			}
		}
		r.at += 6
		return true
	}
	return false
}

func (r *reader) null() bool {
	r.space()
	if r.at+4 <= len(r.raw) && string(r.raw[r.at:r.at+4]) == "null" {
		r.at += 4
		return true
	}
	return false
}

func (r *reader) space() {
	for r.at < len(r.raw) && (r.raw[r.at] == ' ' || r.raw[r.at] == '\n' || r.raw[r.at] == '\t' || r.raw[r.at] == '\r') {
		r.at++
	}
}

func (r *reader) end() bool {
	r.space()
	return r.at == len(r.raw)
}
