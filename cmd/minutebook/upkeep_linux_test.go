package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"filippo.io/age"
	_ "github.com/mattn/go-sqlite3"
	"golang.org/x/sys/unix"

	"minutebook/control"
	"minutebook/internal/notify"
	"minutebook/internal/smtptest"
	"minutebook/internal/testrun"
)

// collector is an address for webhooks, ntfy and the heartbeat, each at a path that is a secret.
type collector struct {
	*httptest.Server
	mu       sync.Mutex // guards the fields below
	hooks    []notify.Message
	phones   []string
	beats    int
	status   int
	received func(notify.Message) // called before a webhook is answered; nil: nothing
}

func startCollector(t *testing.T) *collector {
	w := &collector{status: http.StatusOK}
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close)
	return w
}

// ServeHTTP takes a message.
func (w *collector) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	received := w.received
	status := w.status
	switch r.URL.Path {
	case "/hook-secret":
		var m notify.Message
		_ = json.Unmarshal(body, &m)
		w.hooks = append(w.hooks, m)
		if received != nil {
			defer received(m)
		}
	case "/phone-secret":
		if status == http.StatusOK {
			w.phones = append(w.phones, r.Header.Get("Title"))
		}
		rw.WriteHeader(status)
	case "/beat-secret":
		w.beats++
	}
	w.mu.Unlock()
}

// set changes the answers of the address.
func (w *collector) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// messages returns the webhooks about a condition.
func (w *collector) messages(key string) (messages []notify.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.hooks {
		if m.Key == key {
			messages = append(messages, m)
		}
	}
	return messages
}

// count returns how many messages of a kind about a condition came by webhook, each id
// counted once, by ntfy, and by mail, each Message-ID counted once.
func (w *collector) count(mails *smtptest.Server, kind notify.Kind, key, title string) (hooks, phones, mailed int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := map[string]bool{}
	for _, m := range w.hooks {
		if m.Kind == kind && m.Key == key {
			ids[m.ID] = true
		}
	}
	if kind == notify.Over {
		title = "over: " + title
	}
	for _, phone := range w.phones {
		if phone == "Minutebook: "+title {
			phones++
		}
	}
	return len(ids), phones, len(mailIDs(mails, title))
}

// mailIDs returns the Message-IDs of the mails with a title, or of all with "".
func mailIDs(mails *smtptest.Server, title string) map[string]bool {
	ids := map[string]bool{}
	for _, m := range mails.Mails() {
		read, err := mail.ReadMessage(strings.NewReader(m.Data))
		if err == nil && (title == "" || read.Header.Get("Subject") == "Minutebook: "+title) {
			ids[read.Header.Get("Message-ID")] = true
		}
	}
	return ids
}

// kept is a daemon that makes backups and tells people, beside a sandbox.
type kept struct {
	*testing.T
	*collector
	serve                      *program
	mails                      *smtptest.Server
	service, key               string
	dir, data, backups, config string
	identity                   *age.X25519Identity // backups are encrypted for it, nil: they are not
	digest                     string              // settings of [notify] about digests
}

func newKept(t *testing.T) *kept {
	k := &kept{T: t, collector: startCollector(t), mails: smtptest.Start(t, true), dir: t.TempDir()}
	k.data, k.backups, k.config = filepath.Join(k.dir, "data"), filepath.Join(k.dir, "backups"), filepath.Join(k.dir, "config.toml")
	service, key := sandbox(t, t.TempDir())
	k.service, k.key = service.url, key
	t.Setenv("SSL_CERT_FILE", k.mails.CertFile)
	for name, secret := range map[string]string{"password": smtptest.Password, "phone": k.URL + "/phone-secret", "secret": serveSecret} {
		if err := os.WriteFile(filepath.Join(k.dir, name), []byte(secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// write writes the configuration, with the channel phone or without.
func (k *kept) write(phone bool, backups string) {
	k.Helper()
	text := fmt.Sprintf(`data_dir = %q
[media]
download = false
[sync]
catch_up = "@every 1s"
[backup]
schedule = %q
to = %q
keep = 2
prove = "daily"
[verify]
schedule = "@every 1s"
days = 2
[notify]
heartbeat = "%s/beat-secret"
allow_private = true
%s[notify.mail]
host = "127.0.0.1"
port = %d
username = %q
password_file = "password"
from = "minutebook@example.com"
to = ["ada@example.com"]
[[notify.hooks]]
name = "pager"
format = "webhook"
url = "%s/hook-secret"
secret_file = "secret"
`, k.data, backups, k.backups, k.URL, k.digest, k.mails.Port, smtptest.Username, k.URL)
	if k.identity != nil {
		text = strings.Replace(text, "[backup]\n", fmt.Sprintf("[archive]\nage_recipients = [%q]\n[backup]\nidentity_file = \"age.key\"\n", k.identity.Recipient()), 1)
	}
	if phone {
		text += "[[notify.hooks]]\nname = \"phone\"\nformat = \"ntfy\"\nurl_file = \"phone\"\n"
	}
	text += fmt.Sprintf("[[accounts]]\nname = \"ada\"\nbase_url = \"%s/external/v1\"\nallow_private = true\napi_key = %q\n", k.service, k.key)
	if err := os.WriteFile(k.config, []byte(text), 0o600); err != nil {
		k.Fatal(err)
	}
}

func (k *kept) start() { k.serve = start(k.T, "serve", "--create", "-c", k.config) }

// expect waits until a condition was told so many times on every channel. A message to ntfy has
// no id, so that a kill may make it two.
func (k *kept) expect(hooks, phones, mailed int, kind notify.Kind, key, title string) {
	k.Helper()
	eventually(k.T, fmt.Sprintf("%s %s is told %d, %d, %d times", kind, key, hooks, phones, mailed), func() (bool, any) {
		h, p, m := k.count(k.mails, kind, key, title)
		return h == hooks && (p == phones || p == 2*phones && kind == notify.Over) && m == mailed, []any{h, p, m, k.serve.log()}
	})
}

// swapBackups puts a file where the directory of backups is, or puts it back.
func (k *kept) swapBackups() {
	k.Helper()
	aside := k.backups + "-aside"
	if _, err := os.Stat(aside); err != nil {
		if err := os.WriteFile(aside, nil, 0o600); err != nil {
			k.Fatal(err)
		}
	}
	if err := unix.Renameat2(unix.AT_FDCWD, aside, unix.AT_FDCWD, k.backups, unix.RENAME_EXCHANGE); err != nil {
		k.Fatal(err)
	}
}

// damage changes archive.db as nothing of the program does.
func (k *kept) damage(statement string) {
	k.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(k.data, "archive.db")+"?_busy_timeout=5000")
	if err != nil {
		k.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		k.Fatal(err)
	}
}

// TestTheDaemonKeepsItselfAndTellsPeople runs the built program beside a sandbox with
// schedules of seconds: backups are made, proven and pruned, the archive is checked slice
// by slice, and every condition is told once and once when it is over, by mail, webhook
// and ntfy, also when an address is down, when the daemon is killed between sending and
// noting, and when the configuration changes meanwhile. No secret is said anywhere.
func TestTheDaemonKeepsItselfAndTellsPeople(t *testing.T) {
	testrun.SkipUnderRace(t)
	k := newKept(t)
	k.write(true, "@every 1s")
	k.start()
	var s control.StatusResult
	eventually(t, "a backup is made and proven, and all is checked", func() (bool, any) {
		s = status(t, k.data)
		u := s.Upkeep
		return s.Accounts[0].Backfilled && !u[control.UpkeepBackup].Succeeded.IsZero() && strings.Contains(u[control.UpkeepProve].Result, "restored and verified") && !u[control.UpkeepVerify].Whole.IsZero(), u
	})
	eventually(t, "the heartbeat is sent", func() (ok bool, _ any) {
		k.set(func() { ok = k.beats > 0 })
		return ok, nil
	})
	const failed, damaged = "the backup failed", "the archive is damaged"

	k.set(func() { k.status = http.StatusServiceUnavailable }) // the phone's address is down
	k.swapBackups()
	k.expect(1, 0, 1, notify.Problem, "upkeep/backup", failed)
	k.set(func() { k.status = http.StatusOK })
	run(t, "reload", "-c", k.config) // the next try is in a minute, or at a reload
	k.expect(1, 1, 1, notify.Problem, "upkeep/backup", failed)

	k.set(func() {
		k.received = func(m notify.Message) { // killed after the message has come, before it is noted
			if m.Kind == notify.Over {
				k.set(func() { k.received = nil })
				k.serve.cmd.Process.Kill()
			}
		}
	})
	k.swapBackups()
	<-k.serve.ended
	k.start()
	k.expect(1, 1, 1, notify.Over, "upkeep/backup", failed)
	eventually(t, "the last of two webhooks comes twice", func() (ok bool, hooks any) {
		k.set(func() {
			ids := map[string]int{}
			for _, m := range k.hooks {
				ids[m.ID]++
			}
			ok, hooks = len(ids) == 2 && len(k.hooks) == 3, slices.Clone(k.hooks)
		})
		return ok, hooks
	})

	k.write(false, "")
	if got := runJSON[control.Reloaded](t, "reload", "-c", k.config); !slices.Contains(got.Changed, "backup.schedule") || !slices.Contains(got.Changed, "notify.hooks") {
		t.Errorf("changed %q", got.Changed)
	}
	made := status(t, k.data).Upkeep[control.UpkeepBackup]
	k.damage(`UPDATE bodies SET size = size + 1 WHERE revision_id IN (SELECT id FROM revisions WHERE id % 3 = 1)`)
	k.expect(1, 0, 1, notify.Problem, "damage", damaged)
	k.damage(`UPDATE bodies SET size = size - 1 WHERE revision_id IN (SELECT id FROM revisions WHERE id % 3 = 1)`)
	k.expect(1, 0, 1, notify.Over, "damage", damaged)
	s = status(t, k.data)
	if u := s.Upkeep[control.UpkeepBackup]; !u.Next.IsZero() || !u.Began.Equal(made.Began) {
		t.Errorf("without a schedule backups are made: %+v, %+v", made, u)
	}
	k.saysNoSecret()
	k.serve.stop()
	if mails := len(mailIDs(k.mails, "")); mails != 4 {
		t.Errorf("%d mails, want 4", mails)
	}
}

// examined returns the findings of doctor, whatever its exit code.
func examined(config string) string {
	out, _ := exec.Command("minutebook", "doctor", "--json", "-c", config).CombinedOutput()
	return string(out)
}

// saysNoSecret looks for each secret wherever the daemon speaks.
func (k *kept) saysNoSecret() {
	k.Helper()
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", k.serve.cmd.Process.Pid))
	if err != nil {
		k.Fatal(err)
	}
	for place, text := range map[string]string{
		"log": k.serve.log(), "command line": string(cmdline), "status": run(k.T, "status", "-c", k.config), "status --json": run(k.T, "status", "--json", "-c", k.config),
		"metrics": get(k.T, k.serve.url+"/metrics"), "status page": get(k.T, k.serve.url+"/status"), "configuration": run(k.T, "config", "show", "-c", k.config),
		"readiness": get(k.T, k.serve.url+"/readyz"), "audit": run(k.T, "audit", "-c", k.config), "doctor": examined(k.config),
	} {
		for _, secret := range []string{"hook-secret", "phone-secret", "beat-secret", smtptest.Password, serveSecret, k.key, "AGE-SECRET-KEY", os.Getenv("AWS_SECRET_ACCESS_KEY")} {
			if secret != "" && strings.Contains(text, secret) {
				k.Errorf("%s has the secret %s", place, secret)
			}
		}
		if text == "" {
			k.Errorf("%s is empty", place)
		}
	}
}
