package packaging_test

import (
	"strings"
	"testing"
)

// socketSteps are the commands of docs/systemd.md about sockets: the receiver's is switched on and
// outlives a restart, the page's gets another address, and then one of everybody, which the
// daemon refuses until people sign in.
func socketSteps(t *testing.T) []step {
	t.Helper()
	blocks := commands(t, "../docs/systemd.md", "Sockets")
	if len(blocks) != 2 || len(blocks[0]) != 1 {
		t.Fatalf("docs/systemd.md has other commands: %q", blocks)
	}
	move := edit(t, blocks[1])
	// The page answers such a request with 200, and the receiver, which has no such path, with 404.
	const health = "curl -s -o /dev/null -w ' %{http_code}' http://127.0.0.1:"
	return []step{
		{"the receiver's socket", blocks[0][0] + " 2>&1; systemctl is-active minutebook minutebook.socket minutebook-receiver.socket; " + health + "8377/healthz; " + health + "8378/healthz",
			[]string{"active\nactive\nactive\n 200 404"}},
		{"a restart beside deliveries", `n=0; bad=0; (sleep 1; systemctl restart minutebook; sleep 1) & while kill -0 $! 2>/dev/null; do curl -sS -o /dev/null http://127.0.0.1:8378/healthz && n=$((n+1)) || bad=$((bad+1)); done
			wait; [ $n -gt 10 ] && echo "$bad refused"`, []string{"\n0 refused"}},
		{"the page's socket elsewhere", move + "; " + health + "9377/healthz; " + health + "8377/healthz; " + health + "8378/healthz", []string{" 200 000 404"}},
		{"a socket of everybody", strings.ReplaceAll(move, "127.0.0.1:9377", "443") + "; systemctl is-failed minutebook; systemctl show -p ExecMainStatus minutebook", []string{"failed\nExecMainStatus=2"}},
		{"people sign in there", `printf '[web]\naccess = "people"\npublic_url = "https://minutes.example"\n' >/etc/minutebook/config.toml; ` + blocks[1][len(blocks[1])-1] + "; systemctl is-active minutebook minutebook.socket minutebook-receiver.socket; " + health + "443/healthz",
			[]string{"active\nactive\nactive\n 200"}},
		{"the first sockets again", `rm -r /etc/minutebook/config.toml /etc/systemd/system/minutebook.socket.d; systemctl disable minutebook-receiver.socket 2>&1; systemctl daemon-reload
			systemctl stop minutebook minutebook.socket minutebook-receiver.socket && systemctl start minutebook; systemctl is-active minutebook minutebook.socket; ` + health + "8377/healthz", []string{"active\nactive\n 200"}},
	}
}

// edit returns commands as a document has them, with the settings that follow `systemctl edit`
// as comments written to the file that it opens: it wants a terminal.
func edit(t *testing.T, lines []string) string {
	t.Helper()
	unit, ok := strings.CutPrefix(lines[0], "systemctl edit ")
	if !ok {
		t.Fatalf("no unit is edited first: %q", lines)
	}
	dir := "/etc/systemd/system/" + unit + ".d"
	script := "mkdir -p " + dir + " && rm -f " + dir + "/override.conf"
	for _, line := range lines[1:] {
		setting, isSetting := strings.CutPrefix(line, "# ")
		if isSetting {
			line = "echo '" + setting + "' >>" + dir + "/override.conf"
		} else {
			line = "systemctl daemon-reload && " + line
		}
		script += " && " + line
	}
	return script
}
