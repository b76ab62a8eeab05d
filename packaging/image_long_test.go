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
	"runtime"
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
	needRoot(t)
	need(t, "buildah")
	e := newEngine(t)
	builder := e.makeBuilder(t)
	e.build(t, "minutebook")
	c := e.inspect(t, "minutebook").Config
	if !slices.Equal(slices.Collect(maps.Keys(c.Volumes)), []string{"/data"}) || c.User != "65532:65532" || len(c.Healthcheck.Test) < 2 || c.Healthcheck.Test[0] != "CMD" {
		t.Fatalf("the image is %+v", c)
	}
	container := strings.TrimSpace(e.do(t, "from", "--pull=never", "minutebook"))
	_, port, _ := strings.Cut(testrun.FreeAddress(t), ":")
	// The port of the image may be taken on this machine, whose network the container has.
	run := e.args("run", "--isolation=chroot", "--env=MINUTEBOOK_WEB_LISTEN=0.0.0.0:"+port, "--env=MINUTEBOOK_WEB_PUBLIC_URL=http://localhost:"+port, container, "--")
	ctx, cancel := context.WithCancel(t.Context())
	defer startUntil(t, exec.CommandContext(ctx, "buildah", slices.Concat(run, c.Entrypoint, c.Cmd)...), cancel)()
	becomeFirst(t, port, func(args ...string) string { return command(t, "buildah", slices.Concat(run, c.Entrypoint, args)...) })
	command(t, "buildah", slices.Concat(run, c.Healthcheck.Test[1:])...)
	t.Run("arm64", func(t *testing.T) { e.runEmulated(t, builder) })
}

// runEmulated has Buildah build the image for the other processor, as the Dockerfile says how,
// and runs its program in an emulator. Buildah 1.28 looks for a builder of the image's platform,
// whatever the Dockerfile says: this machine's own is called that.
func (e engine) runEmulated(t *testing.T, builder string) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the emulator is for arm64 beside amd64")
	}
	need(t, "qemu-aarch64")
	container := strings.TrimSpace(e.do(t, "from", "--pull=never", builder))
	e.do(t, "config", "--arch=arm64", container)
	e.do(t, "commit", "--quiet", "--rm", container, builder)
	e.build(t, "other", "--platform=linux/arm64")
	if a := e.inspect(t, "other").Architecture; a != "arm64" {
		t.Errorf("the image is for %s", a)
	}
	root := strings.TrimSpace(e.do(t, "mount", strings.TrimSpace(e.do(t, "from", "--pull=never", "--platform=linux/arm64", "other"))))
	if out := command(t, "qemu-aarch64", filepath.Join(root, "usr/bin/minutebook"), "version"); !strings.Contains(out, "minutebook 0.0.1") || !strings.Contains(out, "arm64") {
		t.Errorf("version: %s", out)
	}
}

// build builds the Dockerfile with this machine's Go and its caches.
func (e engine) build(t *testing.T, tag string, args ...string) {
	t.Helper()
	modules, compiled := goEnv(t, "GOMODCACHE"), goEnv(t, "GOCACHE")
	e.do(t, slices.Concat([]string{"build", "--isolation=chroot", "--format=docker", "--pull=never", "--build-arg=VERSION=0.0.1", "--tag=" + tag,
		"--volume=" + goEnv(t, "GOROOT") + ":/usr/local/go:ro", "--volume=" + modules + ":" + modules, "--volume=" + compiled + ":" + compiled}, args, []string{".."})...)
}

// inspect returns the description of an image.
func (e engine) inspect(t *testing.T, tag string) image {
	t.Helper()
	var i struct{ Docker image }
	if err := json.Unmarshal([]byte(e.do(t, "inspect", "--type=image", tag)), &i); err != nil {
		t.Fatal(err)
	}
	return i.Docker
}

type image struct {
	Architecture string
	Config       imageConfig
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
func (e engine) makeBuilder(t *testing.T) (name string) {
	t.Helper()
	text, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	from := regexp.MustCompile(`(?m)^FROM --platform=\$BUILDPLATFORM (golang:\S+-(\w+)) AS build$`).FindStringSubmatch(string(text))
	if from == nil {
		t.Fatal("the Dockerfile begins with another image")
	}
	root := makeDebian(t, from[2], "gcc,libc6-dev,ca-certificates")
	container := strings.TrimSpace(e.do(t, "from", "scratch"))
	e.do(t, "add", "--quiet", container, root, "/")
	e.do(t, "add", "--quiet", container, "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs/ca-certificates.crt")
	e.do(t, "add", "--quiet", container, filepath.Join(goEnv(t, "GOROOT"), "lib", "time"), "/usr/local/go/lib/time")
	e.do(t, "config", "--env=PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin", "--env=GOMODCACHE="+goEnv(t, "GOMODCACHE"), "--env=GOCACHE="+goEnv(t, "GOCACHE"), container)
	name = "docker.io/library/" + from[1]
	e.do(t, "commit", "--quiet", "--rm", container, name)
	return name
}

// goEnv returns a setting of the go command.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(command(t, "go", "env", name))
}
