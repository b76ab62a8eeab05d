package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"minutebook/internal/testrun"
)

// misuse runs a command line that makes no sense: it ends with exit code 2.
func misuse(t *testing.T, args ...string) string {
	t.Helper()
	return refused(t, 2, args...)
}

// refused runs a command that ends with a code and one line on standard error, in words that
// are not Go's, and asks nothing. It returns the line.
func refused(t *testing.T, want int, args ...string) string {
	t.Helper()
	var out, errs strings.Builder
	m := &Main{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Version: "test"}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	code := m.Run(ctx, args)
	line := errs.String()
	if code != want || strings.Count(line, "\n") != 1 || out.Len() > 0 || goWords.MatchString(line) {
		t.Errorf("minutebook %s: exit code %d, %q%q", strings.Join(args, " "), code, out.String(), line)
	}
	return line
}

// goWords are words of Go's own errors.
var goWords = regexp.MustCompile(`strconv|arg\(s\)|no such file|is a directory`)

// refuseText gives a flag a wrong text, and one beside a right word.
func refuseText(t *testing.T, checked *checkedFlag, name string, with func(...string) []string) {
	t.Helper()
	line := misuse(t, with("--"+name, "AGE-SECRET-KEY-1NONSENSE")...)
	if checked.secret == strings.Contains(line, "NONSENSE") {
		t.Errorf("--%s: %s", name, line)
	}
	for _, w := range checked.words {
		if line := misuse(t, with("--"+name, w+"x")...); !strings.Contains(line, "did you mean "+w+"?") {
			t.Errorf("--%s %sx: %s", name, w, line)
		}
	}
}

// TestEveryMisuseExits2 walks all commands and flags: a wrong word, a wrong flag, a wrong
// value and an argument too many are one line and exit code 2, with the nearest right word.
func TestEveryMisuseExits2(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := t.TempDir() + "/none"
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		with := func(args ...string) []string { return append(append([]string{}, path...), args...) }
		if cmd.HasSubCommands() {
			for _, sub := range cmd.Commands() {
				if sub.Name() == "help" {
					continue
				}
				if name := sub.Name(); !sub.Hidden {
					near := name[:len(name)-1] // creat
					if line := misuse(t, with(near)...); !strings.Contains(line, "did you mean") || !strings.Contains(line, name) {
						t.Errorf("%q is not told to be %s: %s", near, name, line)
					}
				}
				walk(sub)
			}
		}
		misuse(t, with("--nosuchflag")...)
		if line := misuse(t, with("-Z")...); !strings.Contains(line, "has no flag -Z; -h ") {
			t.Errorf("-Z: %s", line)
		}
		for _, flag := range []string{"-c", "--config", "--data"} {
			if line := misuse(t, with(flag)...); !strings.Contains(line, "needs a value") {
				t.Errorf("%s without a value: %s", flag, line)
			}
		}
		if cmd.HasSubCommands() || cmd.Name() == "powershell" || cmd.Parent() != nil && cmd.Parent().Name() == "completion" {
			return
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			if near := f.Name[:len(f.Name)-1]; len(near) > 2 {
				if line := misuse(t, with("--"+near)...); !strings.Contains(line, "did you mean --") {
					t.Errorf("--%s is not told to be --%s: %s", near, f.Name, line)
				}
			}
			switch f.Value.Type() {
			case "int", "int64", "float64", "duration":
				misuse(t, with("--data", dir, "--"+f.Name, "abc")...)
				misuse(t, append(with("--data", dir, "--"+f.Name+"=-5"+map[string]string{"duration": "s"}[f.Value.Type()]), arguments(cmd)...)...)
			case "string", "stringSlice":
				if f.Name == "listen" {
					misuse(t, with("--data", dir, "--listen", "127.0.0.1:99999", "--base-url", "http://127.0.0.1:1")...)
				}
				if checked, ok := f.Value.(*checkedFlag); ok {
					refuseText(t, checked, f.Name, with)
				}
			case "bool":
				misuse(t, with("--data", dir, "--"+f.Name+"=maybe")...)
			}
		})
		if !strings.Contains(cmd.Use, "…") && !strings.Contains(cmd.Use, "...") && cmd.Name() != "search" {
			misuse(t, with("--data", dir, "1", "2", "3", "4")...)
		}
	}
	walk((&Main{}).rootCmd())
}

// TestMisuseThatTheConfigurationKnows names accounts that the configuration has not, and
// values that nothing takes: exit code 2, and the nearest right word.
func TestMisuseThatTheConfigurationKnows(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	file, data := filepath.Join(dir, "config.toml"), filepath.Join(dir, "data")
	text := fmt.Sprintf("data_dir = %q\n[web]\naccess = \"people\"\npublic_url = \"https://minutes.example\"\n[receiver]\nlisten = \"127.0.0.1:0\"\npublic_url = \"https://minutes.example\"\n", data)
	for _, name := range []string{"ada", "bob"} {
		text += fmt.Sprintf("[[accounts]]\nname = %q\nbase_url = \"http://127.0.0.1:1\"\n", name)
		if name == "ada" {
			text += "api_key = \"key\"\n"
		} else {
			text += "[accounts.oauth]\nclient_id = \"id\"\nclient_secret = \"secret\"\nredirect_url = \"https://minutes.example/oauth\"\n"
		}
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "init", "--offline", "-c", file)
	for command, want := range map[string]string{
		"sync --account adda":                                  "did you mean ada?",
		"sync --account cleopatra":                             "there are ada, bob",
		"auth login bobb":                                      "did you mean bob?",
		"auth login ada":                                       "no account with [accounts.oauth] is named",
		"auth status bobb":                                     "did you mean bob?",
		"webhook create adda":                                  "did you mean ada?",
		"webhook rotate adda":                                  "did you mean ada?",
		"webhook test adda":                                    "did you mean ada?",
		"webhook list --account adda":                          "did you mean ada?",
		"webhook deliveries --account adda":                    "did you mean ada?",
		"webhook quarantine --account adda":                    "did you mean ada?",
		"webhook delete 1 --account adda":                      "did you mean ada?",
		"user add nobody":                                      "no e-mail address",
		"service users create --user x":                        "--user takes an address such as",
		"service keys create --user x":                         "--user takes an address such as",
		"service apps create --name n --redirect-uri http://x": "--redirect-uri takes an https:// address",
		"service apps create --name n --redirect-uri https://x --redirect-uri https://y": "need --development",
		"backup --keep -1 " + dir + "/backups":                                           "from 1 on",
		"backup --keep 0 " + dir + "/backups":                                            "from 1 on",
	} {
		if line := misuse(t, append(strings.Fields(command), "-c", file)...); !strings.Contains(line, want) {
			t.Errorf("%s: %s", command, line)
		}
	}
	none := filepath.Join(dir, "none")
	for command, want := range map[string]string{
		"import " + none + ".vtt":                                                none + ".vtt is not there",
		"import --identity " + none + " " + file:                                 none + " is not there",
		"restore --identity " + none + " " + dir:                                 none + " is not there",
		"adopt --old-data " + none:                                               none + "/archive.db is not there",
		"service --listen 127.0.0.1:0 --data " + dir + "/service --load " + none: none + " is not there",
		"export --to /proc/none/x":                                               "a folder above /proc/none is not there",
	} {
		if line := refused(t, 1, append(strings.Fields(command), "-c", file)...); !strings.Contains(line, want) {
			t.Errorf("%s: %s", command, line)
		}
	}
}

// arguments returns as many arguments as a command takes.
func arguments(cmd *cobra.Command) (args []string) {
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if strings.ToUpper(word) == word && !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "[") {
			args = append(args, "1")
		}
	}
	return args
}

// TestEmptyArgumentsAreRefused gives the variable of a script that is not set where a folder
// is wanted: the working directory is not meant. An empty query finds every meeting.
func TestEmptyArgumentsAreRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := filepath.Join(t.TempDir(), "data")
	run(t, "init", "--data", dir)
	for _, args := range [][]string{{"import", ""}, {"import", "x", ""}, {"backup", ""}, {"restore", ""}, {"show", ""}, {"auth", "status", ""}} {
		if line := misuse(t, append(args, "--data", dir)...); !strings.Contains(line, "empty") {
			t.Errorf("%q: %s", args, line)
		}
	}
	if line := misuse(t, "import", "x.json", "--account", "A B", "--data", dir); !strings.Contains(line, "use small letters") {
		t.Error(line)
	}
	run(t, "search", "", "--data", dir)
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
		t.Errorf("%v, %v", files, err)
	}
}

// TestSinceIsTheDayOfThisMachine reads --since of sync: a date is a day of local time, and a
// number of days is the whole text.
func TestSinceIsTheDayOfThisMachine(t *testing.T) {
	testrun.SkipUnderRace(t)
	before := time.Local
	defer func() { time.Local = before }()
	time.Local = time.FixedZone("east", 9*60*60)
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"2026-01-31":           time.Date(2026, time.January, 31, 0, 0, 0, 0, time.Local),
		"2026-01-31T12:00:00Z": time.Date(2026, time.January, 31, 12, 0, 0, 0, time.UTC),
		"30d":                  time.Date(2026, time.January, 30, 12, 0, 0, 0, time.Local),
	} {
		if got, err := parseSince(text, now); err != nil || !got.Equal(want) {
			t.Errorf("--since %s is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"1d12h", "0d", "-1d", "d", "99999999999d", "yesterday"} {
		if got, err := parseSince(text, now); err == nil {
			t.Errorf("--since %s is %v", text, got)
		}
	}
}
