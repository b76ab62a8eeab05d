package byterange

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// FuzzCanonical: whatever Range field comes, an answer is of the file: whole, a part of
// it that is announced as such, or refused.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{"bytes=0-4", "bytes=-5", "BYTES = 3-", "bytes=0-0,2-3", "bytes=99999999999999999999-", "bytes=-0", "items=1-2", "bytes=5-1", "bytes=,"} {
		f.Add(s)
	}
	content := []byte("0123456789abcdefghijklmnopqrstuvwxyz")
	f.Fuzz(func(t *testing.T, text string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["Range"] = []string{text}
		w := httptest.NewRecorder()
		http.ServeContent(w, Canonical(r, int64(len(content))), "", time.Time{}, bytes.NewReader(content))
		switch body := w.Body.Bytes(); w.Code {
		case http.StatusOK:
			if !bytes.Equal(body, content) {
				t.Errorf("%q: 200 with %q", text, body)
			}
		case http.StatusPartialContent:
			if w.Header().Get("Content-Range") != "" && !bytes.Contains(content, body) {
				t.Errorf("%q: 206 with %q", text, body)
			}
		case http.StatusRequestedRangeNotSatisfiable:
		default:
			t.Errorf("%q: %d", text, w.Code)
		}
	})
}
