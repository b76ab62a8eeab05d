package generation

import (
	"errors"
	"testing"
)

// TestWrapErrorNamesAPlaceOnce wraps errors that name the place, and one that does not.
func TestWrapErrorNamesAPlaceOnce(t *testing.T) {
	for text, want := range map[string]string{
		"s3://b/p: no answer": "prove: restore: s3://b/p: no answer",
		"it is empty":         "prove: restore s3://b/p: it is empty",
	} {
		if got := WrapError("prove", "s3://b/p", WrapError("restore", "s3://b/p", errors.New(text))).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
