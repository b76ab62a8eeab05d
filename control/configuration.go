package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Configuration identifies the content of the file with which a process was
// started. The zero value means that there was none.
type Configuration struct {
	Path   string    `json:"path"`
	Time   time.Time `json:"time"` // of its last change
	SHA256 string    `json:"sha256"`
}

// ReadConfiguration reads the identity of a file. An empty path means that there
// is none.
func ReadConfiguration(path string) (Configuration, error) {
	if path == "" {
		return Configuration{}, nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return Configuration{}, fmt.Errorf("find the configuration: %w", err)
	}
	raw, err := os.ReadFile(abs)
	if err != nil {
		return Configuration{}, fmt.Errorf("read the configuration: %w", err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return Configuration{}, fmt.Errorf("look at the configuration: %w", err)
	}
	sum := sha256.Sum256(raw)
	return Configuration{Path: abs, Time: info.ModTime().UTC(), SHA256: hex.EncodeToString(sum[:])}, nil
}

// Differs describes how a command's file differs from the daemon's. It returns ""
// where they agree or where the command has no file.
func (c Configuration) Differs(running Configuration) string {
	switch {
	case c.Path == "" || c.SHA256 == running.SHA256:
		return ""
	case running.Path == "":
		return fmt.Sprintf("the daemon runs without a configuration file, so the settings of %s do not count; restart it with -c to load them", c.Path)
	case c.Path == running.Path:
		return fmt.Sprintf("%s has changed since the daemon loaded it (as of %s), so its present settings do not count; restart the daemon to load them",
			c.Path, running.Time.Format(time.RFC3339))
	}
	return fmt.Sprintf("the daemon runs with %s, so the settings of %s do not count", running.Path, c.Path)
}

// RunningConfiguration asks a daemon for its configuration. ok is false for an
// older daemon that does not know the question.
func RunningConfiguration(ctx context.Context, c Caller) (running Configuration, ok bool, err error) {
	running, err = Call[Configuration](ctx, c, "configuration", struct{}{}, nil)
	var e *Error
	if errors.As(err, &e) && e.Kind == KindUnknown {
		return running, false, nil
	}
	return running, err == nil, err
}

func (h Deps) configuration(context.Context, struct{}, Emit) (Configuration, error) {
	return h.Configuration, nil
}
