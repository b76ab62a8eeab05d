package packaging_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// installRPM installs the .rpm with its scripts into a copy of this system that is thrown away,
// makes an archive there and removes the package. It has the files of the .deb.
func installRPM(t *testing.T, rpm, deb string) {
	needRoot(t)
	need(t, "rpm", "dpkg-deb")
	root := copyOfSystem(t)
	in := func(args ...string) string {
		return command(t, "rpm", append([]string{"--root", root, "--dbpath", "/var/lib/rpm"}, args...)...)
	}
	command(t, "rpm", "--checksig", "--nosignature", rpm)
	in("-i", "--nodeps", rpm)
	in("--verify", "--nodeps", "minutebook")
	contents := t.TempDir()
	command(t, "dpkg-deb", "-x", deb, contents)
	var files []string
	err := filepath.WalkDir(contents, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := strings.Replace(strings.TrimPrefix(path, contents), "/zsh/vendor-completions/", "/zsh/site-functions/", 1)
		files = append(files, name)
		a, errA := os.ReadFile(path)
		b, errB := os.ReadFile(filepath.Join(root, name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s is another one in the .rpm: %v, %v", name, errA, errB)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	installed := strings.Fields(in("-q", "--qf", `[%{FILEMODES:perms} %{FILENAMES}\n]`, "minutebook"))
	var names []string
	for i := 0; i+1 < len(installed); i += 2 {
		if !strings.HasPrefix(installed[i], "d") {
			names = append(names, installed[i+1])
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff(files, names); diff != "" {
		t.Errorf("the .rpm has other files (+) than the .deb (-): %s", diff)
	}
	command(t, "chroot", root, "sh", "-c", `install -d -o minutebook -m 0700 /var/lib/minutebook && minutebook init --data /var/lib/minutebook`)
	if out := in("-e", "minutebook"); !strings.Contains(out, "the archive in /var/lib/minutebook") {
		t.Errorf("the removal does not say that the archive stays: %s", out)
	}
	for name, stays := range map[string]bool{"usr/bin/minutebook": false, "usr/lib/systemd/system/minutebook.service": false, "var/lib/minutebook/archive.db": true} {
		if _, err := os.Stat(filepath.Join(root, name)); (err == nil) != stays {
			t.Errorf("after the removal: %s: %v", name, err)
		}
	}
}

// copyOfSystem returns a root with the files of this system, changes of which nobody else sees.
func copyOfSystem(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.Command("sh", "-c", `mount -t tmpfs tmpfs "$1" && mkdir "$1/upper" "$1/work" "$1/root" &&
		mount -t overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" overlay "$1/root"`, "sh", dir).CombinedOutput()
	t.Cleanup(func() { _ = exec.Command("sh", "-c", `umount "$1/root"; umount "$1"`, "sh", dir).Run() })
	if err != nil {
		lack(t, "file systems cannot be mounted here: %v: %s", err, out)
	}
	return filepath.Join(dir, "root")
}

// runEmulated runs the program for the other processor in an emulator: it makes an archive,
// reads a meeting into it and finds a sentence.
func runEmulated(t *testing.T, dir string) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the emulator is for arm64 beside amd64")
	}
	need(t, "aarch64-linux-gnu-gcc", "qemu-aarch64", "dpkg-deb", "rpm") // without the first a release has no arm64
	deb := command(t, "dpkg-deb", "-f", match(t, dir, "*_arm64.deb"), "Architecture")
	rpm := command(t, "rpm", "-q", "--qf", "%{ARCH}", "-p", match(t, dir, "*_arm64.rpm"))
	if strings.TrimSpace(deb) != "arm64" || rpm != "aarch64" {
		t.Errorf("the .deb is for %s, and the .rpm for %s", deb, rpm)
	}
	program, data := unpackProgram(t, match(t, dir, "*_arm64.tar.gz")), filepath.Join(t.TempDir(), "data")
	spoken := filepath.Join(t.TempDir(), "a.vtt")
	if err := os.WriteFile(spoken, []byte("WEBVTT\n\n00:01.000 --> 00:02.000\nThe first sentence.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string { return command(t, "qemu-aarch64", append([]string{program}, args...)...) }
	run("init", "--data", data)
	run("import", "--data", data, spoken)
	if out := run("search", "--data", data, "sentence"); !strings.Contains(out, "1 meeting") {
		t.Errorf("the sentence is not found: %s", out)
	}
	if out := run("version"); !strings.Contains(out, "minutebook ") || !strings.Contains(out, "arm64") {
		t.Errorf("version: %s", out)
	}
}
