package control

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
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

// emptySHA256 is the hash of no bytes.
const emptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// IsEmpty reports whether there is no file, or one without a byte.
func (c Configuration) IsEmpty() bool { return c.Path == "" || c.SHA256 == emptySHA256 }

// Differs describes how a command's file differs from the daemon's. It returns ""
// where they agree or where the command has no file.
func (c Configuration) Differs(running Configuration) string {
	switch {
	case c.Path == "" || c.SHA256 == running.SHA256:
		return ""
	case running.Path == "":
		return fmt.Sprintf("the daemon runs without a configuration file, so the settings of %s do not count; `minutebook reload` loads them where its MINUTEBOOK_CONFIG names the file, else restart it with -c", c.Path)
	case c.Path == running.Path:
		return fmt.Sprintf("%s has changed since the daemon loaded it (as of %s), so its present settings do not count; `minutebook reload` loads them",
			c.Path, running.Time.Format(time.RFC3339))
	}
	return fmt.Sprintf("the daemon runs with %s, so the settings of %s do not count", running.Path, c.Path)
}

// RunningConfiguration asks a daemon for its configuration. ok is false for an
// older daemon that does not know the question.
func RunningConfiguration(ctx context.Context, c Caller) (running Configuration, ok bool, err error) {
	running, err = Call[Configuration](ctx, c, "configuration", struct{}{}, nil)
	if e, ok := errors.AsType[*Error](err); ok && e.Kind == KindUnknown {
		return running, false, nil
	}
	return running, err == nil, err
}

// ConfigurationState is the configuration of a daemon, beside its file as it is now.
type ConfigurationState struct {
	Configuration
	Outdated string `json:"outdated,omitempty"` // a sentence, when the file is another one now
	// NeedsRestart are the settings of the loaded file that wait for a restart.
	NeedsRestart []string `json:"needs_restart,omitempty"`
}

// showConfiguration compares the file of a daemon with the configuration it has loaded.
func (h Deps) showConfiguration() *ConfigurationState {
	path := cmp.Or(h.Configuration.Path, h.FirstConfiguration)
	if !h.Running || path == "" {
		return nil
	}
	state := &ConfigurationState{Configuration: h.Configuration, NeedsRestart: h.NeedsRestart}
	now, err := ReadConfiguration(path)
	if h.Configuration.Path == "" && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		state.Outdated = fmt.Sprintf("the daemon cannot read the file of its configuration: %v", err)
		return state
	}
	state.Outdated = now.Differs(h.Configuration)
	return state
}

// Reloaded names the settings that a daemon has loaded anew.
type Reloaded struct {
	Configuration Configuration `json:"configuration"`
	Changed       []string      `json:"changed"`       // settings that took effect
	NeedsRestart  []string      `json:"needs_restart"` // settings that keep their values until a restart
	// Left are the accounts that are not configured any more: their meetings are kept, and
	// nothing is read for them.
	Left []string `json:"left"`
	// Webhooks are the webhooks that those have at the service. Their deliveries are refused.
	Webhooks []string `json:"webhooks,omitempty"`
}

// errNoReload is the answer of a process that is no daemon.
var errNoReload = errors.New("load the configuration again: no daemon is running on this data directory, and the next command reads the file anyway")

func (h Deps) reload(ctx context.Context, _ struct{}, _ Emit) (Reloaded, error) {
	if h.Reload == nil {
		return Reloaded{}, errNoReload
	}
	return h.Reload(ctx)
}

func (h Deps) configuration(context.Context, struct{}, Emit) (Configuration, error) {
	return h.Configuration, nil
}
