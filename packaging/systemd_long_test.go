package packaging_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// TestServiceUnderSystemd installs two versions of the .deb in a Debian of its own that a
// real systemd has started, and goes through the life of the service: installed twice, an upgrade
// under requests, a configuration that is wrong, which a person mends (systemd refuses a
// sixth start within ten seconds), a crash, removed, purged, installed again.
func TestServiceUnderSystemd(t *testing.T) {
	testrun.SkipUnderRace(t)
	testrun.OnlyLong(t)
	needRoot(t)
	need(t, "systemd-nspawn", "nsenter")
	root := makeDebian(t, "bookworm", "systemd,systemd-sysv,curl,procps,sudo")
	// Nothing is downloaded there: it has no network.
	command(t, "sh", "-c", `mkdir "$1/srv/packages" && echo 'APT::Install-Recommends "false";' >"$1/etc/apt/apt.conf.d/test"`, "sh", root)
	t.Setenv("ARCHES", runtime.GOARCH)
	for _, version := range []string{"0.0.1", "0.0.2"} {
		out := t.TempDir()
		distVersion(t, "..", out, version)
		command(t, "cp", match(t, out, "*_"+runtime.GOARCH+".deb"), filepath.Join(root, version+".deb"))
	}
	command(t, "cp", filepath.Join(root, "0.0.1.deb"), filepath.Join(root, "srv/packages/minutebook_0.0.1_"+runtime.GOARCH+".deb"))
	install := commands(t, "../docs/install.md", "Debian, Ubuntu, Fedora")[0]
	if len(install) != 3 {
		t.Fatalf("docs/install.md has other commands: %q", install)
	}
	inside := boot(t, root)
	steps := []step{
		{"installation of the package", "cd /srv/packages && " + strings.ReplaceAll(install[0], "amd64", runtime.GOARCH), []string{"Setting up minutebook (0.0.1)"}},
		{"start", install[1] + " && " + strings.Replace(install[2], "xdg-open", "curl -sSL", 1), []string{"<title>"}},
		{"first meeting", `systemctl is-active minutebook minutebook.socket
			mkdir /srv/in && printf 'WEBVTT\n\n00:01.000 --> 00:02.000\nThe first sentence.\n' >/srv/in/a.vtt && chmod -R a+rX /srv/in
			minutebook import /srv/in/a.vtt; minutebook search sentence; id minutebook; stat -c '%U %a' /var/lib/minutebook`,
			[]string{"active\nactive", "1 new", "1 meeting", "uid=", "minutebook 700"}},
		{"a file that the daemon does not see", `cp -r /srv/in /tmp/in; minutebook import /tmp/in/a.vtt 2>&1; true`, []string{"sees what its user and its unit may see"}},
		{"again", `dpkg -i /0.0.1.deb && systemctl is-active minutebook && minutebook search sentence`, []string{"active", "1 meeting"}},
		{"upgrade", `n=0; bad=0; (sleep 2; dpkg -i /0.0.2.deb) & while kill -0 $! 2>/dev/null; do curl -sS -o /dev/null http://127.0.0.1:8377/healthz && n=$((n+1)) || bad=$((bad+1)); done
			wait; [ $n -gt 10 ] && echo "$bad refused"; minutebook version; minutebook search sentence`, []string{"\n0 refused", "minutebook 0.0.2", "1 meeting"}},
		{"a wrong configuration", `echo 'data_dir = 5' >/etc/minutebook/config.toml; dpkg -i /0.0.1.deb 2>&1 && for n in $(seq 30); do curl -m 1 -s http://127.0.0.1:8377/; done; systemctl is-failed minutebook
			journalctl -u minutebook -o cat | grep 'takes a text in quotes' | head -1; rm /etc/minutebook/config.toml; sleep 11; systemctl start minutebook; systemctl is-active minutebook minutebook.socket`,
			[]string{"the new version does not start", "failed", "data_dir: takes a text in quotes, not an integer", "active\nactive"}},
		{"a secret by credential, a backup to another disk", `minutebook service --data /root/sandbox --listen 127.0.0.1:8500 >/root/sandbox.out 2>&1 & sandbox=$!; sleep 3
			mkdir -p /etc/minutebook/keys /mnt/usb /etc/systemd/system/minutebook.service.d; sed -n 's/^api_key //p' /root/sandbox.out >/etc/minutebook/keys/ada.key
			printf '[backup]\nto = "/mnt/usb/minutes"\n[[accounts]]\nname = "ada"\nbase_url = "http://127.0.0.1:8500/external/v1"\napi_key_file = "ada.key"\n' >/etc/minutebook/config.toml
			printf '[Service]\nLoadCredential=ada.key:/etc/minutebook/keys/ada.key\nReadWritePaths=-/mnt/usb/minutes\n' >/etc/systemd/system/minutebook.service.d/disk.conf
			systemctl daemon-reload && systemctl restart minutebook && systemctl is-active minutebook # without the disk
			install -d -o minutebook -m 0700 /mnt/usb/minutes; systemctl restart minutebook && minutebook sync && minutebook doctor --offline; minutebook backup /mnt/usb/minutes
			rm /etc/minutebook/config.toml /etc/systemd/system/minutebook.service.d/disk.conf; systemctl daemon-reload && systemctl restart minutebook; kill $sandbox`,
			[]string{"active\n", "/mnt/usb/minutes can be written", "generation-000001: "}},
		{"a configuration without secrets, a program that lowers its priority, as encoders do", `printf '[verify]\ndays = 9\n' >/etc/minutebook/config.toml; printf '[Service]\nExecStartPre=nice -n 5 echo encoded\n' >/etc/systemd/system/minutebook.service.d/nice.conf
			systemctl daemon-reload && systemctl restart minutebook; journalctl -u minutebook -o cat | grep -c ^encoded; systemctl is-active minutebook
			rm /etc/minutebook/config.toml /etc/systemd/system/minutebook.service.d/nice.conf; systemctl daemon-reload`, []string{"\n1\nactive"}},
		{"crash", `systemctl kill -s ABRT --kill-who=main minutebook; for n in $(seq 60); do sleep 1; systemctl is-active -q minutebook && break; done
			systemctl is-active minutebook; systemctl show -p NRestarts minutebook`, []string{"active", "NRestarts=1"}},
		{"remove", `dpkg -r minutebook 2>&1; systemctl is-active minutebook; ls -d /usr/bin/minutebook /usr/lib/systemd/system/minutebook.service /var/lib/minutebook/archive.db 2>&1; true`,
			[]string{"the archive in /var/lib/minutebook and the configuration in /etc/minutebook stay", "inactive", "access '/usr/bin/minutebook'", "access '/usr/lib/systemd/system", "\n/var/lib/minutebook/archive.db"}},
		{"purge", `dpkg -P minutebook && ls -d /var/lib/minutebook/archive.db /etc/minutebook && id minutebook`, []string{"archive.db", "/etc/minutebook", "uid="}},
		{"after the purge", `dpkg -i /0.0.2.deb && systemctl enable --now minutebook.socket minutebook 2>&1 && minutebook search sentence`, []string{"1 meeting"}},
	}
	for _, s := range slices.Insert(steps, slices.IndexFunc(steps, func(s step) bool { return s.name == "crash" }), socketSteps(t)...) {
		began := time.Now()
		out := inside(s.script)
		t.Logf("%s: %.1f s", s.name, time.Since(began).Seconds()) // the first is for docs/benchmarks.md
		for _, want := range s.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %q is not in\n%s\n%s", s.name, want, out, inside("journalctl -u minutebook -u minutebook.socket -o cat | tail -20"))
			}
		}
	}
}

// step is a script in the Debian, and parts of its output.
type step struct {
	name, script string
	want         []string
}

// commands returns the lines of each block of a document's part.
func commands(t *testing.T, file, heading string) (blocks [][]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n## "+heading+"\n")
	part, _, _ = strings.Cut(part, "\n## ")
	for i, block := range strings.Split(part, "```") {
		if i%2 == 1 {
			blocks = append(blocks, strings.Split(strings.TrimSpace(block), "\n"))
		}
	}
	if blocks == nil {
		t.Fatalf("%s has no commands in %q", file, heading)
	}
	return blocks
}

// makeDebian makes a root with a Debian and further packages.
func makeDebian(t *testing.T, suite, packages string) string {
	t.Helper()
	need(t, "debootstrap")
	root := filepath.Join(t.TempDir(), "debian")
	if out, err := exec.Command("debootstrap", "--variant=minbase", "--include="+packages, suite, root).CombinedOutput(); err != nil {
		lack(t, "no Debian can be made here: %v: %.500s", err, out)
	}
	return root
}

// boot starts systemd in a root, until the test ends. inside runs a script there.
func boot(t *testing.T, root string) (inside func(script string) string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "systemd-nspawn", "--register=no", "--keep-unit", "--quiet", "--boot", "--private-network", "--directory="+root)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait()
	})
	inside = func(script string) string {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
		first, _, _ := strings.Cut(string(children), " ")
		out, _ := exec.Command("nsenter", "--target", first, "--all", "sh", "-c", script).CombinedOutput() // the output counts
		return "\n" + string(out)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Second) {
		state := inside("systemctl is-system-running")
		if strings.Contains(state, "running") || strings.Contains(state, "degraded") {
			return inside
		}
		if time.Now().After(deadline) {
			lack(t, "systemd does not come up here: %s", state)
		}
	}
}
