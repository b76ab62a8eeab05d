package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"minutebook/internal/s3test"
	"minutebook/internal/testrun"
)

// TestDocumentsRun runs the commands of the documents, in the blocks marked {run}, and
// looks for the output that a block of text after them shows; "…" stands for anything.
// Blocks marked {run PROGRAM} are left out where that program is not installed.
// Blocks marked {run until} are repeated until the output is as shown. A command that
// ends in " &" runs until the document's next heading. The buckets of the documents are
// folders of one on a real S3 server, their disks are folders here, and their ports free ones.
// The tutorial is the first, since others use its archive.
func TestDocumentsRun(t *testing.T) {
	testrun.SkipUnderRace(t)
	upstream := t.TempDir()
	service, key := sandbox(t, upstream)
	run(t, "service", "limits", "--data", upstream, "--global", "100000", "--heavy", "100000") // one key is that of two accounts
	for _, variable := range os.Environ() {                                                    // those of tests, which `config check` refuses
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "MINUTEBOOK_") {
			t.Setenv(name, "") // restored afterwards
			os.Unsetenv(name)
		}
	}
	free := freePorts(t)
	t.Setenv("SERVICE", service.url+"/external/v1")
	t.Setenv("HOOKS", free("http://127.0.0.1:8378"))
	t.Setenv("MINUTEBOOK_WEB_LISTEN", free("127.0.0.1:8377"))
	t.Setenv("RESTIC_PASSWORD", "only for this test")
	var names, texts []string
	for _, pattern := range []string{"tutorial.md", "*.md", "how-to/*.md"} {
		found, err := filepath.Glob(filepath.Join("../../docs", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(filepath.Dir(pattern), filepath.Base(path))
			if strings.Contains(string(text), "```sh {run") && !slices.Contains(names, name) {
				names, texts = append(names, name), append(texts, string(text))
			}
		}
	}
	if len(names) < 10 {
		t.Fatalf("the pages with commands are %q", names)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("ada.key", []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	packRelease(t)
	buckets, disks := anyBucket(s3test.Start(t)), strings.NewReplacer(" /mnt/", " "+here+"/mnt/", " /srv/", " "+here+"/srv/")
	t.Setenv("HOME", t.TempDir()) // after the server, which is built in a cache there
	for i, name := range names {
		for _, section := range strings.Split(disks.Replace(free(buckets(texts[i]))), "\n## ") {
			t.Run(name, func(t *testing.T) { runSection(t, name, section) })
		}
	}
}

// anyBucket returns a function that replaces the buckets of a document by folders on a
// server.
func anyBucket(server *s3test.Server) func(text string) string {
	address := regexp.MustCompile(`'s3://([a-z/-]+)\?[^']*'`)
	return func(text string) string {
		return address.ReplaceAllStringFunc(text, func(found string) string {
			return "'" + server.URL("recordings", address.FindStringSubmatch(found)[1]) + "'"
		})
	}
}

// freePorts returns a function that replaces each port of a document by a free one.
func freePorts(t *testing.T) func(text string) string {
	port, free := regexp.MustCompile(`\b(127\.0\.0\.1|localhost):(\d+)`), map[string]string{}
	return func(text string) string {
		return port.ReplaceAllStringFunc(text, func(found string) string {
			host, number, _ := strings.Cut(found, ":")
			if free[number] == "" {
				_, free[number], _ = strings.Cut(testrun.FreeAddress(t), ":")
			}
			return host + ":" + free[number]
		})
	}
}

// packRelease makes an archive of the program here, named and laid out as those of a release.
func packRelease(t *testing.T) {
	t.Helper()
	const name = "minutebook_1.0.0_linux_amd64"
	program, err := exec.LookPath("minutebook")
	if err == nil {
		err = os.Mkdir(name, 0o700)
	}
	if err == nil {
		err = os.Symlink(program, filepath.Join(name, "minutebook"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "--remove-files", "-czf", name+".tar.gz", name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

var block = regexp.MustCompile("(?s)```(sh \\{run(?: [a-z-]+)?\\}|text)\n(.*?)```")

func runSection(t *testing.T, name, section string) {
	t.Helper()
	blocks := block.FindAllStringSubmatch(section, -1)
	for i, b := range blocks {
		shown := ""
		if i+1 < len(blocks) && blocks[i+1][1] == "text" {
			shown = blocks[i+1][2]
		}
		if b[1] == "text" {
			continue
		}
		if b[1] == "sh {run until}" {
			eventually(t, name, func() (bool, any) {
				missing := missingLine(shown, runBlock(t, name, b[2]))
				return missing == "", missing
			})
			continue
		}
		if program, ok := strings.CutPrefix(strings.Trim(b[1], "sh {}"), "run "); ok {
			if _, err := exec.LookPath(program); err != nil {
				t.Logf("%s: not run without %s", name, program)
				continue
			}
		}
		output := runBlock(t, name, b[2])
		if missing := missingLine(shown, output); missing != "" {
			t.Errorf("%s: %q is not in the output:\n%s", name, missing, output)
		}
	}
}

// runBlock runs the lines of a block and returns their output.
func runBlock(t *testing.T, name, text string) (output string) {
	t.Helper()
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", "")) {
		line = strings.TrimSpace(line)
		if command, ok := strings.CutSuffix(line, " &"); ok {
			output += runBehind(t, name, command)
			continue
		}
		out, err := exec.Command("bash", "-c", line).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %s: %v\n%s", name, line, err, out)
		}
		output += string(out)
	}
	return output
}

// runBehind starts a command that ends with the section, and returns the first line of
// its output.
func runBehind(t *testing.T, name, command string) string {
	t.Helper()
	cmd := exec.Command("bash", "-c", "exec "+command)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %s: %v", name, command, err)
	}
	drained := make(chan struct{})
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		<-drained
		cmd.Wait()
		log.Close()
	})
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	go func() { defer close(drained); io.Copy(io.Discard, lines) }()
	if err != nil {
		said, _ := os.ReadFile(log.Name())
		t.Errorf("%s: %s printed no line: %v\n%s", name, command, err, said)
	}
	return first
}

// missingLine returns the first line of a document's text that an output lacks, or "".
func missingLine(text, output string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		pattern := `(?m)^\s*` + strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + `\s*$`
		if !regexp.MustCompile(pattern).MatchString(output) {
			return line
		}
	}
	return ""
}

var link = regexp.MustCompile(`\]\(([^)#\s:]*)(#[^)\s]*)?\)`)

// TestLinksLead follows the links between the documents, to their headings too.
func TestLinksLead(t *testing.T) {
	testrun.SkipUnderRace(t)
	root := "../.."
	headings := map[string]string{} // a document's headings as GitHub names them, by path
	var documents []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, found...)
	}
	for _, path := range documents {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
				headings[path] += "#" + anchor(title) + "\n"
			}
		}
	}
	for _, path := range documents {
		text, _ := os.ReadFile(path)
		for _, l := range link.FindAllStringSubmatch(string(text), -1) {
			target := path
			if l[1] != "" {
				target = filepath.Join(filepath.Dir(path), l[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s leads nowhere", path, l[0])
			} else if l[2] != "" && !strings.Contains(headings[target], l[2]+"\n") {
				t.Errorf("%s: %s: no such heading", path, l[0])
			}
		}
	}
}

// TestDependenciesAreNamed looks for each module that go.mod requires directly in the
// tables of dependencies.md.
func TestDependenciesAreNamed(t *testing.T) {
	module, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(module)) {
		path, rest, ok := strings.Cut(strings.TrimSpace(line), " v")
		if !ok || strings.Contains(rest, "// indirect") || strings.HasPrefix(path, "//") {
			continue
		}
		name := filepath.Base(regexp.MustCompile(`/v\d+$`).ReplaceAllString(path, ""))
		if !regexp.MustCompile("(?m)^\\|[^|]*\\b" + regexp.QuoteMeta(name) + "\\b").Match(document) {
			t.Errorf("docs/dependencies.md has no row of %s", path)
		}
	}
}

// anchor returns the name that GitHub gives a heading.
func anchor(title string) string {
	title = strings.ToLower(strings.TrimSpace(title))
	title = regexp.MustCompile(`[^\p{L}\p{N}\- _]`).ReplaceAllString(title, "")
	return strings.ReplaceAll(title, " ", "-")
}
