package generation

import (
	"errors"
	"testing"
)

// TestAPlaceHasOneName writes the address of a bucket with and without slashes at its end.
func TestAPlaceHasOneName(t *testing.T) {
	for address, want := range map[string]string{
		"s3://bucket/p/?region=x": "s3://bucket/p?region=x", "s3://bucket/p//": "s3://bucket/p", "s3://bucket/": "s3://bucket", "s3://bucket/p?region=x": "s3://bucket/p?region=x",
	} {
		place, err := OpenPlace(address)
		if err != nil {
			t.Fatal(err)
		}
		same, err := Absolute(address)
		if entry := (Generation{Place: place, Name: NameOf(7), Number: 7}).Path(); err != nil || same != want || place.String() != want || DirOf(entry) != want {
			t.Errorf("%s is %s, %s and has %s, %v", address, same, place, entry, err)
		}
	}
}

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
