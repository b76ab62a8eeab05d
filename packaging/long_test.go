package packaging_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// TestPackages makes a release, installs, runs and removes the .deb and the .rpm in roots of
// their own, runs the image's command line in another and the program for the other processor
// in an emulator, and has another tool list the modules. Then it makes the release a second
// time, in another folder, and compares all bytes. MINUTEBOOK_DIST is a release that was made
// before.
func TestPackages(t *testing.T) {
	testrun.SkipUnderRace(t)
	testrun.OnlyLong(t)
	first := os.Getenv("MINUTEBOOK_DIST")
	if first == "" {
		first = t.TempDir()
		dist(t, "..", first)
	}
	t.Run("Debian", func(t *testing.T) { installDebian(t, match(t, first, "*_"+runtime.GOARCH+".deb")) })
	t.Run("rpm", func(t *testing.T) {
		installRPM(t, match(t, first, "*_"+runtime.GOARCH+".rpm"), match(t, first, "*_"+runtime.GOARCH+".deb"))
	})
	t.Run("arm64", func(t *testing.T) { runEmulated(t, first) })
	t.Run("modules", func(t *testing.T) { compareModules(t, first) })
	t.Run("container", func(t *testing.T) { runImage(t, match(t, first, "*_"+runtime.GOARCH+".tar.gz")) })
	t.Run("again", func(t *testing.T) {
		elsewhere, second := filepath.Join(t.TempDir(), "elsewhere"), t.TempDir()
		command(t, "sh", "-c", `mkdir "$1" && git -C .. ls-files -z | (cd .. && xargs -0 cp --parents -t "$1") && chmod -R go= "$1"`, "sh", elsewhere)
		dist(t, elsewhere, second)
		for _, name := range []string{"SHA256SUMS"} {
			a, errA := os.ReadFile(filepath.Join(first, name))
			b, errB := os.ReadFile(filepath.Join(second, name))
			if errA != nil || errB != nil || !bytes.Equal(a, b) {
				t.Errorf("%v %v\n%s\n%s", errA, errB, a, b)
			}
		}
	})
}

// dist makes a release of the source in a folder.
func dist(t *testing.T, source, to string) { distVersion(t, source, to, "0.0.1") }

func distVersion(t *testing.T, source, to, version string) {
	t.Helper()
	cmd := exec.Command("packaging/dist", to)
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "VERSION="+version, "SOURCE_DATE_EPOCH=1700000000")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("packaging/dist: %v: %s", err, out)
	}
}

func match(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v", pattern, found, err)
	}
	return found[0]
}

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// lack skips a test, which make long names at its end, or fails it where the environment has
// CI: there everything is expected to be.
func lack(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// need looks for programs, which make long installs on a Debian.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			lack(t, "%s is not here; make long installs it on a Debian", name)
		}
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		lack(t, "only root can do this")
	}
}

// installDebian installs a .deb into an empty root, runs it there and removes it.
func installDebian(t *testing.T, deb string) {
	needRoot(t)
	need(t, "dpkg")
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	command(t, "sh", "-c", `mkdir -p "$1/var/lib/dpkg/info" "$1/var/lib/dpkg/updates" && touch "$1/var/lib/dpkg/status"`, "sh", root)
	dpkg := []string{"--root=" + root, "--force-script-chrootless", "--force-not-root"}
	command(t, "dpkg", append(dpkg, "-i", deb)...)
	passwd, err := os.ReadFile(filepath.Join(root, "etc", "passwd"))
	if err != nil || !strings.Contains(string(passwd), "minutebook") {
		t.Errorf("the user was not made: %s, %v", passwd, err)
	}
	for _, name := range []string{"usr/lib/systemd/system/minutebook.service", "usr/share/man/man1/minutebook.1.gz", "usr/share/doc/minutebook/copyright", "usr/share/doc/minutebook/examples/prometheus-rules.yml",
		"usr/share/bash-completion/completions/minutebook", "usr/share/doc/minutebook/licenses/github.com/mattn/go-sqlite3/LICENSE", "usr/share/doc/minutebook/licenses/std/LICENSE"} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	// As the unit runs it, without a configuration.
	command(t, "install", "-d", "-o", "65532", "-g", "65532", "-m", "0700", filepath.Join(root, "var/lib/minutebook"))
	_, port, _ := strings.Cut(testrun.FreeAddress(t), ":")
	environ := []string{"MINUTEBOOK_CONFIG=/etc/minutebook/config.toml", "MINUTEBOOK_DATA_DIR=/var/lib/minutebook", "MINUTEBOOK_WEB_LISTEN=127.0.0.1:" + port}
	stop := chroot(t, root, environ, "serve", "--create")
	if page := get(t, "http://127.0.0.1:"+port+"/"); !strings.Contains(page, "<title>") {
		t.Errorf("the page: %.300s", page)
	}
	stop()
	for _, remove := range []string{"-r", "-P"} {
		command(t, "dpkg", append(dpkg, remove, "minutebook")...)
		if _, err := os.Stat(filepath.Join(root, "usr/bin/minutebook")); err == nil {
			t.Errorf("dpkg %s: the program is still there", remove)
		}
		if _, err := os.Stat(filepath.Join(root, "var/lib/minutebook/archive.db")); err != nil {
			t.Errorf("dpkg %s removed the archive: %v", remove, err)
		}
	}
}

// runImage runs the program in a root with the files of the image.
func runImage(t *testing.T, archive string) {
	needRoot(t)
	root := t.TempDir()
	command(t, "sh", "-c", `cd "$1" && mkdir -p usr/bin etc/minutebook data backups && tar -xzOf "$2" --wildcards '*/minutebook' >usr/bin/minutebook &&
		chmod 755 . usr usr/bin etc etc/minutebook usr/bin/minutebook && cp "$3" etc/minutebook/config.toml && chmod 644 etc/minutebook/config.toml &&
		chown 65532:65532 data backups && chmod 700 data backups`, "sh", root, archive, abs(t, "container.toml"))
	_, port, _ := strings.Cut(testrun.FreeAddress(t), ":")
	environ := []string{"PATH=/usr/bin", "TMPDIR=/data", "MINUTEBOOK_CONFIG=/etc/minutebook/config.toml", "MINUTEBOOK_DATA_DIR=/data",
		"MINUTEBOOK_WEB_LISTEN=0.0.0.0:" + port, "MINUTEBOOK_WEB_PUBLIC_URL=http://localhost:" + port}
	stop := chroot(t, root, environ, "serve", "--create")
	defer stop()
	becomeFirst(t, port, func(args ...string) string { return runIn(t, root, environ, args...) })
	runIn(t, root, environ, "healthcheck")
}

// becomeFirst reads the page of a container, which says how to become its first person, does so
// by commands that run in the container, and makes a backup there.
func becomeFirst(t *testing.T, port string, run func(args ...string) string) {
	t.Helper()
	if page := get(t, "http://localhost:"+port+"/"); !strings.Contains(page, "minutebook user add") {
		t.Errorf("the page does not say how to become the first person: %.2000s", page)
	}
	out := run("user", "add", "you@company.example", "--admin")
	_, link, ok := strings.Cut(out, "http://localhost:"+port)
	if !ok {
		t.Fatalf("no link: %s", out)
	}
	if page := get(t, "http://localhost:"+port+strings.Fields(link)[0]); !strings.Contains(page, "you@company.example") {
		t.Errorf("the link does not lead in: %.2000s", page)
	}
	if out := run("backup", "/backups"); !strings.Contains(out, "generation-000001") {
		t.Errorf("backup: %s", out)
	}
	if out := run("version"); !strings.Contains(out, "minutebook ") || strings.Contains(out, "unknown") {
		t.Errorf("version: %s", out)
	}
}

func abs(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return full
}

func chrootCommand(ctx context.Context, root string, environ []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "chroot", append([]string{"--userspec=65532:65532", root, "/usr/bin/minutebook"}, args...)...)
	cmd.Env = environ
	return cmd
}

func runIn(t *testing.T, root string, environ []string, args ...string) string {
	t.Helper()
	out, err := chrootCommand(t.Context(), root, environ, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v: %s", args, err, out)
	}
	return string(out)
}

// chroot starts the program as the user of the image; stop ends it.
func chroot(t *testing.T, root string, environ []string, args ...string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	return startUntil(t, chrootCommand(ctx, root, environ, args...), cancel)
}

// startUntil starts a command, whose context cancel ends; stop interrupts it.
func startUntil(t *testing.T, cmd *exec.Cmd, cancel context.CancelFunc) (stop func()) {
	t.Helper()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		cancel()
		cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	}
}

// get reads a page; the program may still be starting.
func get(t *testing.T, url string) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get(url)
		if err != nil && time.Now().Before(deadline) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
}
