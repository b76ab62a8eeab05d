package notice

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode"

	"minutebook/archive/notes"
	"minutebook/internal/notify"
)

// kept keeps the last message that is sent.
type kept struct{ message notify.Message }

func (k *kept) SendTo(_ context.Context, m notify.Message, _ ...string) error {
	k.message = m
	return nil
}

// TestWordsOfOthersStayWords mails names, titles and talk that would write other lines, obey
// as commands of a terminal, or turn the text after them.
func TestWordsOfOthersStayWords(t *testing.T) {
	const hostile = "Plan \u202egnp.exe\r\n\r\nBcc: eve@x.example\x00\x1b[31m\u2066"
	var k kept
	found := []Found{{notes.SavedSearch{Name: hostile, Secret: "whsec_x"}, []Match{{Title: hostile, Speaker: hostile, Text: hostile}}}}
	if err := SendMail(t.Context(), &k, "me@own.example", found, "", time.Unix(0, 0), time.UTC); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{k.message.Title, k.message.Text} {
		if at := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) }); at >= 0 {
			t.Errorf("%q has %q", text, text[at:])
		}
		if strings.Contains(text, "\nBcc") || !strings.Contains(text, "Plan gnp.exe Bcc: eve@x.example") {
			t.Errorf("%q", text)
		}
	}
}
