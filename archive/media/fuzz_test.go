package media

import (
	"bytes"
	"mime"
	"testing"
)

// FuzzSniff: every file has a content type that can be sent, and bytes behind the first
// 512 do not change it.
func FuzzSniff(f *testing.F) {
	for _, s := range []string{"", "\x00\x00\x00\x18ftypmp42", "\x1a\x45\xdf\xa3\x9fB\x86\x81", "\xff\xfb\x90", "ID3\x04", "fLaC", "RIFF\x00\x00\x00\x00WAVE", "OggS", "<html>"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		kind, err := sniff(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := mime.ParseMediaType(kind); err != nil {
			t.Errorf("%q: %v", kind, err)
		}
		if len(raw) >= 512 {
			if longer, _ := sniff(bytes.NewReader(append(bytes.Clone(raw), "<html>"...))); longer != kind {
				t.Errorf("%q and, with more behind it, %q", kind, longer)
			}
		}
	})
}
