package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"minutebook/api"
	"minutebook/internal/testrun"
	"minutebook/sample"
)

const jsonReference = `# JSON of the commands

Each command here takes ` + "`--json`" + ` and prints a value in one line on standard output. Exit codes
([commands](cli.md)) and messages on standard error are the same as without it. A command that fails
prints no JSON, but for those whose exit code is a result: ` + "`verify`, `doctor`, `config check`, `auth status`" + `,
and the codes 3 to 5.

` + "`text`" + ` is a string. ` + "`time`" + ` is one in RFC 3339; the year 1 means never. ` + "`?`" + ` marks a key that is left out where
it has nothing to say. ` + "`[…]`" + ` is a list, which may be null where it is empty. ` + "`{ text: … }`" + ` is an object with names
for keys. Keys may be added; readers ignore those that they do not know.

[` + "`/api/v1`" + `](api.md) has a description of its own.

`

// TestJSONIsDocumented makes docs/json.md of the types in printedShapes, and compares it with the
// file. `go test ./cmd/minutebook -run TestJSONIsDocumented -update` writes the file.
func TestJSONIsDocumented(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(jsonReference)
	w := &shapeWriter{t: t, comments: map[reflect.Type]map[string]string{}, commands: map[reflect.Type]string{}}
	for _, p := range printedShapes {
		if p.shape.Kind() == reflect.Struct {
			w.commands[p.shape], _, _ = strings.Cut(p.commands, ", ")
		}
	}
	documented := map[string]bool{}
	for _, p := range printedShapes {
		for _, name := range p.names() {
			documented[name] = true
		}
		fmt.Fprintf(&b, "## %s\n\n", p.commands)
		if p.note != "" {
			fmt.Fprintf(&b, "%s\n\n", p.note)
		}
		if p.shape != reflect.TypeFor[api.Meeting]() {
			fmt.Fprintf(&b, "```\n%s\n```\n\n", w.writeShape(p))
		}
	}
	b.WriteString("## Commands without `--json`\n\n| command | prints |\n| --- | --- |\n")
	without := map[string]bool{}
	for _, c := range withoutJSON {
		for name := range strings.SplitSeq(c.command, ", ") {
			without[name] = true
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(c.command, ", ", "`, `"), c.prints)
	}
	eachCommand((&Main{}).rootCmd(), func(name string, cmd *cobra.Command) {
		if has := cmd.Flags().Lookup("json") != nil; has != documented[name] || has == without[name] {
			t.Errorf("%s has --json: %v; give it a type in printedShapes, or words in withoutJSON", name, has)
		}
	})
	if *updateLogs {
		if err := os.WriteFile("../../docs/json.md", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if written, err := os.ReadFile("../../docs/json.md"); err != nil || !bytes.Equal(written, b.Bytes()) {
		t.Errorf("docs/json.md is not of these types (%v): go test ./cmd/minutebook -run TestJSONIsDocumented -update", err)
	}
}

// eachCommand calls visit for every command that can be run, with its name after the program's.
func eachCommand(cmd *cobra.Command, visit func(name string, cmd *cobra.Command)) {
	for _, sub := range cmd.Commands() {
		if sub.Hidden || slices.Contains([]string{"help", "completion"}, sub.Name()) {
			continue
		}
		if _, name, _ := strings.Cut(sub.CommandPath(), " "); !sub.HasSubCommands() || name == "service" {
			visit(name, sub)
		}
		eachCommand(sub, visit)
	}
}

// TestCommandsPrintTheirShapes gives the commands that need no service: each prints the type that
// printedShapes has of it, and nothing else. Those that call a service, administer one or need a
// daemon are given by other tests, whose runJSON looks at the same.
func TestCommandsPrintTheirShapes(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	raw, err := io.ReadAll(sample.NDJSON(sample.Base()))
	if err == nil {
		err = os.WriteFile(in("meetings.ndjson"), raw, 0o600)
	}
	if err == nil {
		err = os.WriteFile(in("c.toml"), []byte("data_dir = \"data\"\n[web]\naccess = \"people\"\npublic_url = \"https://minutes.example\"\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var first api.Meeting
	if err := first.UnmarshalJSON(sample.All()[0]); err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprint(first.RecordingID)
	run(t, "init", "-c", in("c.toml"))
	for _, line := range []string{
		"import meetings.ndjson", "stats", "search the", "show " + id, "history " + id, "status",
		"doctor --offline", "verify", "rebuild", "export --to files", "retention --dry-run", "config check", "config check -c none.toml", "config show", "version",
		"user add ann@a.example --admin", "user invite ann@a.example", "user alias ann@a.example ann@b.example", "user admin ann@a.example",
		"user end ann@a.example", "user list", "token create ann@a.example", "token list", "token revoke 1", "user add bob@a.example", "user remove bob@a.example", "audit",
		"backup backups", "restore backups --list", "restore backups --data again", "forget " + id + " --reason asked",
	} {
		args := strings.Fields(line)
		cmd := exec.Command("minutebook", append([]string{"-c", "c.toml"}, append(args, "--json")...)...)
		cmd.Dir = dir
		out, err := cmd.Output() // doctor has something to say
		if len(out) == 0 {
			t.Errorf("%s: %v, %s", line, err, out)
		}
		for value := range bytes.Lines(out) {
			if problem := decodeShape(t, args, value); problem != "" {
				t.Errorf("%s prints %.200s: %s", line, value, problem)
			}
		}
	}
}

// decodeShape says why a value has no type of those that printedShapes has of a command.
func decodeShape(t *testing.T, args []string, value []byte) (problem string) {
	t.Helper()
	problem = "printedShapes does not know the command"
	for _, p := range printedShapes {
		if !slices.ContainsFunc(p.names(), func(name string) bool { return strings.HasPrefix(strings.Join(args, " ")+" ", name+" ") }) {
			continue
		}
		d := json.NewDecoder(bytes.NewReader(value))
		d.DisallowUnknownFields()
		err := d.Decode(reflect.New(p.shape).Interface())
		if err == nil {
			return ""
		}
		problem = err.Error()
	}
	return problem
}
