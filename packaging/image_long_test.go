package packaging_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

// TestImage has Buildah build the Dockerfile and run the container that it describes: the
// claim page, the link that makes the first person, the check of its health.
func TestImage(t *testing.T) {
	testrun.SkipUnderRace(t)
	testrun.OnlyLong(t)
	for _, name := range []string{"buildah", "debootstrap"} {
		if _, err := exec.LookPath(name); err != nil || os.Getuid() != 0 {
			t.Skipf("this test needs root and %s (Debian's buildah and debootstrap)", name)
		}
	}
	e := newEngine(t)
	e.makeBuilder(t)
	modules, compiled := goEnv(t, "GOMODCACHE"), goEnv(t, "GOCACHE")
	e.do(t, "build", "--isolation=chroot", "--format=docker", "--pull=never", "--build-arg=VERSION=0.0.1", "--tag=minutebook",
		"--volume="+goEnv(t, "GOROOT")+":/usr/local/go:ro", "--volume="+modules+":"+modules, "--volume="+compiled+":"+compiled, "..")
	var image struct{ Docker struct{ Config imageConfig } }
	if err := json.Unmarshal([]byte(e.do(t, "inspect", "--type=image", "minutebook")), &image); err != nil {
		t.Fatal(err)
	}
	c := image.Docker.Config
	if !slices.Equal(slices.Collect(maps.Keys(c.Volumes)), []string{"/data"}) || c.User != "65532:65532" || len(c.Healthcheck.Test) < 2 || c.Healthcheck.Test[0] != "CMD" {
		t.Fatalf("the image is %+v", c)
	}
	container, port := strings.TrimSpace(e.do(t, "from", "--pull=never", "minutebook")), freePort(t)
	// The port of the image may be taken on this machine, whose network the container has.
	run := e.args("run", "--isolation=chroot", "--env=MINUTEBOOK_WEB_LISTEN=0.0.0.0:"+port, "--env=MINUTEBOOK_WEB_PUBLIC_URL=http://localhost:"+port, container, "--")
	ctx, cancel := context.WithCancel(t.Context())
	defer startUntil(t, exec.CommandContext(ctx, "buildah", slices.Concat(run, c.Entrypoint, c.Cmd)...), cancel)()
	becomeFirst(t, port, func(args ...string) string { return command(t, "buildah", slices.Concat(run, c.Entrypoint, args)...) })
	command(t, "buildah", slices.Concat(run, c.Healthcheck.Test[1:])...)
}

// imageConfig has the settings that an image gives its containers.
type imageConfig struct {
	User            string
	Entrypoint, Cmd []string
	Healthcheck     struct{ Test []string }
	Volumes         map[string]struct{}
}

// engine is Buildah with a store of its own.
type engine struct{ store string }

func newEngine(t *testing.T) engine {
	t.Helper()
	e := engine{t.TempDir()}
	t.Cleanup(func() { _ = exec.Command("buildah", e.args("rm", "--all")...).Run() })
	return e
}

func (e engine) args(args ...string) []string {
	return append([]string{"--root", filepath.Join(e.store, "root"), "--runroot", filepath.Join(e.store, "run")}, args...)
}

func (e engine) do(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("buildah", e.args(args...)...)
	cmd.Stderr = &bytes.Buffer{}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("buildah %q: %v: %s\n%s", args, err, cmd.Stderr, out)
	}
	return string(out)
}

// makeBuilder makes the image in which the Dockerfile builds: a registry has it, and none is
// asked. In its place stands the Debian that it is made of, with the certificates of this machine.
// This machine's Go and its caches are mounted there, but for the time zones, which the
// Dockerfile copies.
func (e engine) makeBuilder(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	from := regexp.MustCompile(`(?m)^FROM --platform=\$BUILDPLATFORM (golang:\S+-(\w+)) AS build$`).FindStringSubmatch(string(text))
	if from == nil {
		t.Fatal("the Dockerfile begins with another image")
	}
	root := filepath.Join(t.TempDir(), "debian")
	if out, err := exec.Command("debootstrap", "--variant=minbase", "--include=gcc,libc6-dev,ca-certificates", from[2], root).CombinedOutput(); err != nil {
		t.Skipf("no Debian can be made here: %v: %.500s", err, out)
	}
	container := strings.TrimSpace(e.do(t, "from", "scratch"))
	e.do(t, "add", "--quiet", container, root, "/")
	e.do(t, "add", "--quiet", container, "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs/ca-certificates.crt")
	e.do(t, "add", "--quiet", container, filepath.Join(goEnv(t, "GOROOT"), "lib", "time"), "/usr/local/go/lib/time")
	e.do(t, "config", "--env=PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin", "--env=GOMODCACHE="+goEnv(t, "GOMODCACHE"), "--env=GOCACHE="+goEnv(t, "GOCACHE"), container)
	e.do(t, "commit", "--quiet", "--rm", container, "docker.io/library/"+from[1])
}

// goEnv returns a setting of the go command.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(command(t, "go", "env", name))
}
