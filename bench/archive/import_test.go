package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/archive"
	"minutebook/archive/importer"
)

const (
	captionsFile = "longest.json"
	meetingFile  = "longest.ndjson"
	longest      = 64 << 20 // bytes of a file of captions as JSON
)

// importFile imports a file that has to have one meeting.
func importFile(name string) func(context.Context, *archive.Archive, string) error {
	return func(ctx context.Context, a *archive.Archive, scratch string) error {
		o := importer.Options{Owner: "A <a@bench.example>"}
		result, err := importer.ReadPath(ctx, a, o, filepath.Join(scratch, name))
		if err == nil && result.New != 1 {
			err = fmt.Errorf("%s: %+v", name, result)
		}
		return err
	}
}

// writeCaptions writes 240,000 captions of Whisper, with a time for each word, into a file
// that is nearly as long as one may be.
func writeCaptions(b *testing.B, path string) {
	writeLongest(b, path, `{"segments":[`, `]}`, 240_000, func(i int) string {
		words := strings.Repeat(`,{"word":"seldom","start":1.25,"end":1.75}`, 4)[1:]
		return fmt.Sprintf(`{"start":%d.5,"end":%d.5,"text":"seldom seldom seldom seldom seldom said%06d.","words":[%s]}`, i, i+1, i, words)
	})
}

// writeMeeting writes one meeting, of as many bytes and as many entries, on a line.
func writeMeeting(b *testing.B, path string) {
	pad := strings.Repeat("seldom ", 23)
	writeLongest(b, path, `{"recording_id":900000000,"title":"Long","recorded_by":{"name":"A","email":"a@bench.example"},"transcript":[`, "]}\n", 240_000, func(i int) string {
		return fmt.Sprintf(`{"speaker":{"display_name":"A","matched_calendar_invitee_email":null},"text":"%s%06d","timestamp":"%02d:%02d:%02d"}`, pad, i, i/3600, i/60%60, i%60)
	})
}

// writeLongest writes a list between its ends, and fails where it is not nearly the longest.
func writeLongest(b *testing.B, path, begin, end string, n int, element func(int) string) {
	b.Helper()
	var text strings.Builder
	text.WriteString(begin)
	for i := range n {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(element(i))
	}
	text.WriteString(end)
	if text.Len() > longest || text.Len() < longest*9/10 {
		b.Fatal(errors.New("not nearly the longest"), text.Len())
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
}
