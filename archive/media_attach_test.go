package archive

import (
	"errors"
	"strings"
	"testing"

	"minutebook/archive/media"
)

func TestAttachingIsRefusedForWhatIsNotThere(t *testing.T) {
	a := filledArchive(t)
	absent := media.Blob{SHA256: strings.Repeat("ab", 32)}
	if err := a.AttachMedia(t.Context(), 1, MediaVideo, absent); !errors.Is(err, ErrNoBlob) {
		t.Errorf("a blob that is not there: %v", err)
	}
	blob, err := a.Media().Put(t.Context(), strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.AttachMedia(t.Context(), 404, MediaVideo, blob); !errors.Is(err, ErrNotFound) {
		t.Errorf("to a meeting that is not there: %v", err)
	}
	head, _ := a.Head(t.Context())
	for range 2 {
		if err := a.AttachMedia(t.Context(), 1, MediaVideo, blob); err != nil {
			t.Fatal(err)
		}
	}
	changes, err := a.Changes(t.Context(), head, 9)
	if err != nil || len(changes) != 1 || changes[0].Kind != ChangeMedia {
		t.Errorf("attached twice: changes %v, %v; want one", changes, err)
	}
	row, err := a.Row(t.Context(), 1)
	if err != nil || !row.HasVideo || row.HasAudio {
		t.Errorf("row %+v, %v", row, err)
	}
}
