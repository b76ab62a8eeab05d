package captions

import (
	"html"
	"regexp"
	"slices"
	"strings"

	"minutebook/internal/phrase"
)

// voice is the tag of WebVTT that says who speaks from here on.
var voice = regexp.MustCompile(`<v(?:\.[^\s>]*)?[ \t\n]+([^>]*)>`)

// usesVoices reports whether a file names its speakers by tags.
func usesVoices(text string, isVTT bool) bool { return isVTT && voice.MatchString(text) }

// splitVoices returns a caption for each speaker of a cue; c has the times.
func splitVoices(c Caption, text string) (all []Caption) {
	add := func(text string) {
		if c.Text = plainText(text); c.Text != "" {
			all = append(all, c)
		}
	}
	at := 0
	for _, found := range voice.FindAllStringSubmatchIndex(text, maxCaptions+1) {
		add(text[at:found[0]])
		c.Speaker = cleanName(html.UnescapeString(text[found[2]:found[3]]))
		at = found[1]
	}
	add(text[at:])
	return all
}

// spoken is a line that begins with who says it, as in "Ada Lovelace: Good morning" and
// "[SPEAKER_00]: Good morning".
var spoken = regexp.MustCompile(`^(\[[^\]:]{1,60}\]|[\p{Lu}\p{Lo}\p{N}][\p{L}\p{M}\p{N}\p{Zs}.,'’_@()&-]{0,60}):\s+(.*\S)`)

// splitNames takes the speakers' names out of the texts, where at least half of the
// captions begin with a name. A caption without one goes on with the speaker before.
func splitNames(all []Caption) {
	named := 0
	for _, c := range all {
		if isNamed(spoken.FindStringSubmatch(c.Text)) {
			named++
		}
	}
	if named == 0 || 2*named < len(all) {
		return
	}
	speaker := ""
	for i := range all {
		if match := spoken.FindStringSubmatch(all[i].Text); isNamed(match) {
			speaker, all[i].Text = cleanName(strings.Trim(match[1], "[]")), match[2]
		}
		all[i].Speaker = speaker
	}
}

// isNamed reports whether a line begins with a name and not with a sentence.
func isNamed(match []string) bool { return match != nil && len(strings.Fields(match[1])) <= 5 }

// cleanName returns a name on one line and without the marks of brackets.
func cleanName(name string) string {
	return phrase.OneLine(strings.Map(func(r rune) rune {
		if slices.Contains([]rune{'<', '>', '\ufffd'}, r) {
			return ' '
		}
		return r
	}, name))
}
