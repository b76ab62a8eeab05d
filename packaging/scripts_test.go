package packaging_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

// TestAnUpgradeThatDoesNotStartIsInstalled runs the script after an upgrade whose new
// version refuses the configuration: the package manager is told of no failure, since it
// would leave the package half installed, and the person is.
func TestAnUpgradeThatDoesNotStartIsInstalled(t *testing.T) {
	dir := t.TempDir()
	script, err := os.ReadFile("after-install")
	if err != nil || !strings.Contains(string(script), "/run/systemd/system") {
		t.Fatalf("%s, %v", script, err)
	}
	for name, text := range map[string]string{
		"script":           strings.ReplaceAll(string(script), "/run/systemd/system", dir),
		"systemd-sysusers": "#!/bin/sh\n",
		"systemctl":        "#!/bin/sh\ntest \"$1\" != try-restart\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("sh", filepath.Join(dir, "script"), "configure", "0.8.0")
	cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "minutebook config check") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestAReleaseListsItsOwnFiles makes two releases in one folder, for the other processor before
// this one. The compilers and the packager are scripts here; make long runs the real ones.
func TestAReleaseListsItsOwnFiles(t *testing.T) {
	testrun.SkipUnderRace(t)
	source, out := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(source, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\nset -e\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	script, err := os.ReadFile("dist")
	if err != nil {
		t.Fatal(err)
	}
	write("packaging/dist", string(script))
	write("packaging/version", `echo "$VERSION"`)
	// The program of the other processor does not run on this one.
	write("packaging/build", `[ "$2" = amd64 ] || { echo "no program" >"$1"; exit; }
printf '#!/bin/sh\nif [ "$1" = docs ]; then mkdir "$3" && : >"$3/minutebook.1"; fi\n' >"$1" && chmod +x "$1"`)
	write("packaging/examples", "")
	write("bin/go", `if [ "$1" = env ]; then echo amd64; fi
while [ $# -gt 0 ]; do
	if [ "$1" = -licenses ]; then mkdir "$2"; fi
	if [ "$1" = --target ]; then : >"$2"; fi
	shift
done`)
	for _, name := range []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "config.example.toml", "docs/README.md", "api/openapi.yaml", "web/openapi.yaml",
		"packaging/minutebook.service", "packaging/minutebook.socket", "packaging/minutebook-receiver.socket", "packaging/sysusers.conf", "packaging/nfpm.yaml"} {
		write(name, "")
	}
	for _, version := range []string{"0.0.1", "0.0.2"} {
		cmd := exec.Command("packaging/dist", out)
		cmd.Dir = source
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(source, "bin")+":"+os.Getenv("PATH"), "VERSION="+version, "ARCHES=arm64 amd64", "SOURCE_DATE_EPOCH=1700000000")
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("release %s: %v: %s", version, err, text)
		}
	}
	sums, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	if text := string(sums); err != nil || strings.Count(text, "minutebook_0.0.2_") != 8 || strings.Contains(text, "0.0.1") {
		t.Errorf("%s, %v", sums, err)
	}
}
