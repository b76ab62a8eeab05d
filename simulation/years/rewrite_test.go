package years

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

type object = map[string]json.RawMessage

// rewrite changes a JSON answer. shown tells the oracle of it.
func (c wire) rewrite(k call, body []byte) (out []byte, shown func()) {
	w := c.w
	body = w.org.addressed(body)
	var o object
	if json.Unmarshal(body, &o) != nil {
		return body, func() {}
	}
	kind := callKind(k)
	if o["items"] != nil && k.path != "/meetings" {
		w.stripItems(k.who, kind, o)
	}
	if strings.Contains(k.path, "/download") {
		w.learnDownload(recordingOf(k.path), body)
		if w.isStuck("download", w.org.meeting(recordingOf(k.path)), 0) {
			o["status"] = json.RawMessage(`"processing"`)
			delete(o, "video")
			delete(o, "audio")
		}
	}
	var seen []object
	switch {
	case k.path == tokenPath && k.hit("odd life"):
		o["expires_in"] = json.RawMessage([]string{"0", "-1", "1e12", `"86400"`, "null", "59.5", `{}`}[k.strange.IntN(7)])
	case k.path == "/meetings":
		if seen = c.rewriteList(k, o); !strings.Contains(k.r.URL.RawQuery, "include_") {
			seen = nil // it tells how meetings are spread over time; the walk reads them after that
		}
	case o["items"] != nil:
		if k.hit("empty directory") {
			delete(o, "items")
		}
		c.rewriteCursor(o)
	case strings.HasSuffix(k.path, "/transcript"), strings.HasSuffix(k.path, "/summary"):
		seen = c.rewriteContent(k, o)
	case strings.Contains(k.path, "/download") && k.hit("odd size"):
		for _, kind := range []string{"video", "audio"} {
			var file object
			if json.Unmarshal(o[kind], &file) == nil && file != nil {
				file["file_size_bytes"] = json.RawMessage([]string{"-4", "null", `"many"`, "1"}[k.g.IntN(4)])
				o[kind] = encode(file)
			}
		}
	}
	if o["items"] != nil && k.hit("odd page") {
		o["limit"] = json.RawMessage([]string{"null", "0", "-10", "9223372036854775808", `"10"`, "[]"}[k.strange.IntN(6)])
	}
	return k.respell(w, encode(o)), func() {
		if k.path == tokenPath {
			w.app.arrive(c.h, o)
		}
		if k.path == "/meetings" {
			w.reads.note(k, seen)
		}
		for _, m := range seen {
			w.oracle.show(k.who, k.credential, c.h.number, k.sent, m)
		}
	}
}

func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func (c wire) rewriteCursor(o object) {
	if string(o["next_cursor"]) != "null" {
		return
	}
	switch c.w.traits.lastCursor {
	case "absent":
		delete(o, "next_cursor")
	case "empty":
		o["next_cursor"] = json.RawMessage(`""`)
	}
}

// contentKeys are the members of a meeting with content of their own.
var contentKeys = []string{"transcript", "default_summary", "action_items", "highlights", "crm_matches"}

// rewriteList changes a page of meetings and returns those that can be read in it.
func (c wire) rewriteList(k call, o object) []object {
	w := c.w
	var items []object
	if json.Unmarshal(o["items"], &items) != nil {
		return nil
	}
	c.rewriteCursor(o)
	if k.hit("empty list") {
		o["items"] = json.RawMessage("[]")
		delete(o, "next_cursor")
		w.oracle.emptied(k.who)
		return nil
	}
	items = w.shift(k, o, items)
	var out, readable []object
	for _, m := range items {
		c.dress(k, m)
		w.respellTimes(k.who, callKind(k), m)
		w.strip(k.who, callKind(k), m)
		id, _ := strconv.ParseInt(string(m["recording_id"]), 10, 64)
		switch {
		case k.hit("drop item"):
			w.oracle.dropped(id)
			continue
		case k.hit("wrong type"):
			w.oracle.dropped(id)
			w.noteMistyped(id)
			shown := object{"recording_id": m["recording_id"], "title": nil}
			k.mistype(m)
			shown["recorded_by"] = m["recorded_by"]
			readable = append(readable, shown)
		case k.hit("bad item"):
			w.oracle.dropped(id)
			m["recording_id"] = json.RawMessage([]string{"null", `"x"`, "-7", "1.5"}[k.g.IntN(4)])
		default:
			readable = append(readable, m)
		}
		out = append(out, m)
		if k.hit("double item") {
			out = append(out, m)
		}
	}
	if k.hit("shuffle") {
		k.g.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	if out == nil {
		out = []object{}
	}
	o["items"] = encode(out)
	if w.traits.unknownKeys {
		o["total_hint"] = json.RawMessage("null")
	}
	return readable
}

// absent is how content looks that is not there.
func (t *traits) absent(who string, m object, key string) {
	switch t.style[who] {
	case "absent":
		delete(m, key)
	case "empty":
		m[key] = json.RawMessage("[]")
		if key == "default_summary" {
			m[key] = json.RawMessage(`{"template_name":null,"markdown_formatted":null}`)
		}
	default:
		m[key] = json.RawMessage("null")
	}
}

var wholeMinute = regexp.MustCompile(`:00Z"$`)

// dress gives a listed meeting the seed's traits, and takes content away that is not
// there yet.
func (c wire) dress(k call, m object) {
	w, t := c.w, &c.w.traits
	q := k.r.URL.Query()
	asked := map[string]bool{"transcript": q.Get("include_transcript") == "true", "default_summary": q.Get("include_summary") == "true",
		"action_items": q.Get("include_action_items") == "true", "highlights": q.Get("include_highlights") == "true",
		"crm_matches": q.Get("include_crm_matches") == "true" && w.seed >= firstVaried}
	id, _ := strconv.ParseInt(string(m["recording_id"]), 10, 64)
	for _, key := range contentKeys {
		if !asked[key] {
			t.absent(k.who, m, key)
		} else if !w.isReady(id, key) || k.hit("blank content") {
			w.noteBlank(k.who, id, key)
			t.absent(k.who, m, key)
		} else if key == "crm_matches" {
			m[key] = w.matches(w.org.person(k.who).crm(), w.org.meeting(id))
		}
	}
	if t.lacksShare {
		delete(m, "share_url")
	}
	if t.unknownKeys {
		m["x_extra"] = json.RawMessage(`{"a":[1,2]}`)
	}
	if t.offsets && wholeMinute.Match(m["created_at"]) {
		m["created_at"] = wholeMinute.ReplaceAll(m["created_at"], []byte(`:00+00:00"`))
	}
	// The sandbox keeps the team that a recorder without one had before.
	if recorded := w.org.meeting(id); t.lacksTeam[k.who] || recorded != nil && recorded.recorder.team == "" {
		var by object
		if json.Unmarshal(m["recorded_by"], &by) == nil && by != nil {
			by["team"] = json.RawMessage("null")
			m["recorded_by"] = encode(by)
		}
	}
	if !t.lightMatches && !asked["transcript"] {
		var invitees []object
		if json.Unmarshal(m["calendar_invitees"], &invitees) == nil {
			for _, i := range invitees {
				i["matched_speaker_display_name"] = json.RawMessage("null")
			}
			m["calendar_invitees"] = encode(invitees)
		}
	}
}

// noteBlank notes that an account was shown a meeting without content that it asked for. Of a meeting
// that never has a summary that is no news.
func (w *world) noteBlank(who string, id int64, key string) {
	if m := w.org.meeting(id); w.seed >= firstStrict && m != nil && (!m.isMute || key == "transcript") {
		w.journal.note("%s is shown %d without its %s", who, id, key)
	}
}

// rewriteContent changes the answer of a content endpoint.
func (c wire) rewriteContent(k call, o object) []object {
	id := recordingOf(k.path)
	key := "transcript"
	if strings.HasSuffix(k.path, "/summary") {
		key = "default_summary"
	}
	member := path2member[key]
	if !c.w.isReady(id, key) || k.hit("blank content") {
		c.w.noteBlank(k.who, id, key)
		c.w.traits.absent(k.who, o, member)
		if key == "default_summary" && string(o[member]) == "[]" {
			o[member] = json.RawMessage("null")
		}
		return nil
	}
	c.w.strip(k.who, callKind(k), o)
	return []object{{"recording_id": json.RawMessage(strconv.FormatInt(id, 10)), key: o[member]}}
}

var path2member = map[string]string{"transcript": "transcript", "default_summary": "summary"}

func recordingOf(path string) int64 {
	parts := strings.Split(path, "/")
	if len(parts) < 3 || parts[1] != "recordings" {
		return 0
	}
	id, _ := strconv.ParseInt(parts[2], 10, 64)
	return id
}

// callName is a path without the parts that differ from run to run.
func callName(path string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		if i > 2 || parts[1] == "media" && i > 1 {
			if len(parts[i]) > 12 {
				parts[i] = "*"
			}
		}
	}
	return strings.Join(parts, "/")
}

// queryName is a query without cursors.
func queryName(r *http.Request) string {
	q := r.URL.Query()
	var words []string
	for _, key := range slices.Sorted(maps.Keys(q)) {
		if strings.HasPrefix(key, "include_") || strings.HasSuffix(key, "[]") {
			words = append(words, fmt.Sprint(strings.TrimPrefix(key, "include_"), q[key]))
		}
	}
	if q.Get("cursor") != "" {
		words = append(words, "next")
	}
	return strings.Join(words, " ")
}
