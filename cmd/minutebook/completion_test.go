package main

import (
	"os/exec"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

// completeInBash returns bash's offers for the last word, a line each. The program is the
// real one unless setup defines another.
func completeInBash(t *testing.T, setup string, words ...string) string {
	t.Helper()
	script := `_init_completion() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; } # as of bash-completion
. <(minutebook completion bash)
` + setup + `
COLUMNS=100 COMP_TYPE=9 COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
__start_minutebook
printf '%s\n' "${COMPREPLY[@]}"`
	cmd := exec.Command("bash", append([]string{"-c", script, "bash"}, words...)...)
	out, err := cmd.Output() // compopt complains on standard error that no line is edited
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestShellsOfferMeetingsByTitle completes words with meetings whose numbers do not begin so.
// A single one replaces the word. Several leave it there, whatever their numbers begin with.
func TestShellsOfferMeetingsByTitle(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	answers := func(directive string, lines ...string) string {
		return "minutebook() { printf '%s\\n' " + strings.Join(lines, " ") + " :" + directive + "; }"
	}
	const a, b, shown = `$'1001\ta: b'`, `$'1002\tc'`, "1001  (a: b)\n1002  (c)\n"
	for _, c := range []struct{ setup, typed, want string }{
		{answers("36", a), "launch", "1001\n"},
		{answers("36", a, b), "launch", shown + " \n"},
		{answers("36", a, b), "10", shown},
		{answers("36", a, b), "", shown},
		{answers("4", a, b), "launch", "\n"}, // names, such as those of accounts
		{answers("4", a, b), "1002", "1002\n"},
	} {
		if out := completeInBash(t, c.setup, "minutebook", "show", c.typed); out != c.want {
			t.Errorf("%s: %q is completed with %q", c.setup, c.typed, out)
		}
	}
	if zsh := run(t, "completion", "zsh"); strings.Count(zsh, ` -U"`) != 1 {
		t.Error("zsh compares meetings with the typed word")
	}
}
