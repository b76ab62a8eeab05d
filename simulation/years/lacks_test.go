package years

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"minutebook/api"
)

// A lack is that the answers of a kind of call to an account are without a member for some days,
// all of them alike.
type lack struct {
	who, kind  string
	path       []string  // of the member; lists on the way are not in it
	style      string    // absent, null, empty
	began, end time.Time // end is zero for one that is for good
}

// isLong reports whether the lack kept content away for as long as the program waits for it, a week
// (docs/sync.md), and ended less than a month ago: the content may come with its next reading, which
// each meeting has once a month.
func (l lack) isLong() bool {
	isOfContent := l.kind == "/transcript" || l.kind == "/summary" || l.kind == "/meetings with content"
	return isOfContent && !l.end.IsZero() && l.end.Sub(l.began) > 6*24*time.Hour && time.Since(l.end) < 31*24*time.Hour
}

func (l lack) String() string {
	return fmt.Sprintf("%s of %s: %s %s", l.kind, l.who, strings.Join(l.path, "."), l.style)
}

// kinds of calls, and of the webhooks, with the schemas of their answers or of the items in them.
var kinds = map[string]string{"/meetings": "Meeting", "/meetings of some": "Meeting", "/meetings with content": "Meeting", "webhook": "Meeting",
	"/transcript": "TranscriptAnswer", "/summary": "SummaryAnswer", "/users": "User", "/teams": "Team", "/team_members": "TeamMember", "/meeting_types": "MeetingType"}

// callKind is the kind of a call; "": no other.
func callKind(k call) string {
	q := k.r.URL.RawQuery
	switch {
	case strings.HasSuffix(k.path, "/transcript"):
		return "/transcript"
	case strings.HasSuffix(k.path, "/summary"):
		return "/summary"
	case kinds[k.path] == "":
		return ""
	case k.path == "/meetings" && strings.Contains(q, "include_"):
		return "/meetings with content"
	case k.path == "/meetings" && (strings.Contains(q, "recorded_by") || strings.Contains(q, "teams")):
		return "/meetings of some"
	}
	return k.path
}

// schema is one of the contract of the service.
type schema struct {
	Ref        string            `yaml:"$ref"`
	Properties map[string]schema `yaml:"properties"`
	Items      *schema           `yaml:"items"`
	OneOf      []schema          `yaml:"oneOf"`
}

var readSchemas = sync.OnceValue(func() map[string]schema {
	var contract struct {
		Components struct {
			Schemas map[string]schema `yaml:"schemas"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal(api.OpenAPI(), &contract); err != nil {
		panic(err)
	}
	return contract.Components.Schemas
})

// members returns the paths of all members of a schema but the number of a meeting, without which
// it is none. The specification does not say which others are always there (2.2). A highlight
// without its summary says something else, and is no blank one.
func (s schema) members(before []string) (paths [][]string) {
	if s.Ref != "" {
		return readSchemas()[s.Ref[strings.LastIndex(s.Ref, "/")+1:]].members(before)
	}
	if s.Items != nil {
		return s.Items.members(before)
	}
	for _, one := range s.OneOf {
		paths = append(paths, one.members(before)...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		path := append(slices.Clone(before), name)
		if joined := strings.Join(path, "."); joined == "recording_id" || joined == "highlights.summary" {
			continue
		}
		paths = append(paths, path)
		paths = append(paths, s.Properties[name].members(path)...)
	}
	return paths
}

// lackMembers has a kind of call lack members for an account.
func (w *world) lackMembers(g *rand.Rand) {
	a, names := w.config.accounts[g.IntN(len(w.config.accounts))], slices.Sorted(maps.Keys(kinds))
	kind := names[g.IntN(len(names))]
	paths := readSchemas()[kinds[kind]].members(nil)
	end := time.Now().Add(time.Duration(1+g.IntN(20*24)) * time.Hour)
	for range 1 + g.IntN(max(1, len(paths)/3)) {
		l := lack{a.email, kind, paths[g.IntN(len(paths))], []string{"absent", "null", "empty"}[g.IntN(3)], time.Now(), end}
		w.journal.note("until %s: %s", stamp(end), l)
		w.mu.Lock()
		w.lacks = append(w.lacks, l)
		w.mu.Unlock()
	}
	if schema := kinds[kind]; schema != "Meeting" { // rights may end, and come back with the first whole list
		w.disturbRelay()
		w.later(time.Until(end), "lists are whole", w.disturbRelay)
	}
}

// drawLacks draws content that a kind of call never has for an account, which another one has.
func (w *world) drawLacks() {
	if w.seed < firstHarsh {
		return
	}
	for _, p := range w.org.people {
		g := newRand(w.seed, "lacks "+p.email)
		member := []string{"transcript", "default_summary"}[g.IntN(2)]
		l := lack{p.email, "/meetings with content", []string{member}, []string{"absent", "null", "empty"}[g.IntN(3)], time.Time{}, time.Time{}}
		if g.IntN(3) == 0 {
			w.lacks = append(w.lacks, l)
			w.journal.note("always: %s", l)
		}
	}
}

// lacksForGood reports whether a list never has some content for an account.
func (w *world) lacksForGood(who string) bool {
	return slices.ContainsFunc(w.lackNow(who, "/meetings with content"), func(l lack) bool { return l.end.IsZero() })
}

// lackNow are the members that a kind of call lacks for an account now.
func (w *world) lackNow(who, kind string) (list []lack) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.lacks {
		if l.who == who && l.kind == kind && (l.end.IsZero() || time.Now().Before(l.end)) {
			list = append(list, l)
		}
	}
	return list
}

// lackedLong reports whether content may come with its next reading alone.
func (w *world) lackedLong() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.lacks, lack.isLong)
}

// endLacks ends those that are not for good.
func (w *world) endLacks() {
	if w.seed < firstHarsh {
		return
	}
	w.mu.Lock()
	for i, l := range w.lacks {
		if now := time.Now(); l.end.After(now) {
			w.lacks[i].end = now
		}
	}
	w.mu.Unlock()
	w.disturbRelay()
}

// strip takes the members out of an answer, or of an item in it, that its kind lacks now. A meeting
// without a member that decides a webhook's scope may rightly not be sent.
func (w *world) strip(who, kind string, o object) {
	for _, l := range w.lackNow(who, kind) {
		l.stripObject(o, l.path)
		if id := idOf(o); id != 0 && !l.end.IsZero() {
			w.noteMistyped(id)
		}
	}
}

// stripItems takes them out of the items of a list.
func (w *world) stripItems(who, kind string, o object) {
	var items []object
	if json.Unmarshal(o["items"], &items) != nil || len(items) == 0 {
		return
	}
	for _, item := range items {
		w.strip(who, kind, item)
	}
	o["items"] = encode(items)
}

func (l lack) stripObject(o object, path []string) {
	raw, ok := o[path[0]]
	switch {
	case !ok:
	case len(path) > 1:
		o[path[0]] = l.stripValue(raw, path[1:])
	case l.style == "absent":
		delete(o, path[0])
	case l.style == "empty" && strings.ContainsAny(string(raw[:1]), `"[{`):
		o[path[0]] = json.RawMessage(map[byte]string{'"': `""`, '[': `[]`, '{': `{}`}[raw[0]])
	default:
		o[path[0]] = json.RawMessage("null")
	}
}

func (l lack) stripValue(raw json.RawMessage, path []string) json.RawMessage {
	switch raw[0] {
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return raw
		}
		for i := range list {
			list[i] = l.stripValue(list[i], path)
		}
		return encode(list)
	case '{':
		var o object
		if json.Unmarshal(raw, &o) != nil {
			return raw
		}
		l.stripObject(o, path)
		return encode(o)
	}
	return raw
}
