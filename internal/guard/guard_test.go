package guard

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"minutebook/internal/testrun"
)

func TestAPanicFailsTheWorkAlone(t *testing.T) {
	testrun.SkipUnderRace(t)
	var words bytes.Buffer
	log := zerolog.New(&words)
	failed := errors.New("no such meeting")
	for _, want := range []error{nil, failed} {
		if err := Run(log, "walk", func() error { return want }); err != want || words.Len() > 0 {
			t.Errorf("%v, want %v; the log has %s", err, want, &words)
		}
	}
	err := Run(log, "walk", func() error { return []error{}[len(words.Bytes())] })
	if !errors.Is(err, ErrPanic) || !strings.Contains(err.Error(), "index out of range") {
		t.Errorf("after a panic: %v", err)
	}
	if !strings.Contains(words.String(), `"work":"walk"`) || !strings.Contains(words.String(), "guard_test.go") {
		t.Errorf("the log has %s", &words)
	}
}
