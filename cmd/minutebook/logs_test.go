package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	stdlog "log"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/rs/zerolog"

	"minutebook/config"
	"minutebook/internal/testrun"
)

var updateLogs = flag.Bool("update", false, "write the list of events of docs/logs.md")

// logged is an event of the log, as the program's source has it.
type logged struct {
	room, level, message string
	fields               []string
}

// The levels by the method that begins an event.
var logLevels = map[string]string{"Trace": "trace", "Debug": "debug", "Info": "info", "Warn": "warn", "Error": "error", "WithLevel": "any"}

// fieldMethods are the methods of an event that add a field with the name of their first
// argument.
var fieldMethods = map[string]bool{"Str": true, "Strs": true, "Stringer": true, "Int": true, "Int64": true, "Bool": true, "Dur": true, "Time": true,
	"Any": true, "Bytes": true, "Float64": true, "AnErr": true}

// readEvents returns all events that the source of the program logs.
func readEvents(t *testing.T, root string) (events []logged, fields map[string]bool) {
	t.Helper()
	fields = map[string]bool{"time": true, "level": true, "message": true}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || d.Name() == "bench" || strings.HasSuffix(d.Name(), "test")) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files := gotoken.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			e, ok := readEvent(t, files, call)
			for _, f := range e.fields {
				fields[f] = true
			}
			if ok {
				e.room = filepath.ToSlash(folder)
				events = append(events, e)
			}
			return true
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return events, fields
}

// readEvent reads a chain of calls that ends in Msg; ok is false for another one, of which
// only the fields of a logger count.
func readEvent(t *testing.T, files *gotoken.FileSet, call *ast.CallExpr) (e logged, ok bool) {
	t.Helper()
	end, isMethod := call.Fun.(*ast.SelectorExpr)
	if !isMethod || end.Sel.Name != "Msg" && end.Sel.Name != "Msgf" && end.Sel.Name != "Logger" {
		return e, false
	}
	e.level = "info, warn" // of an event in a variable
	isLog := false
	for at := end.X; ; {
		step, isCall := at.(*ast.CallExpr)
		if !isCall {
			break
		}
		method, isMethod := step.Fun.(*ast.SelectorExpr)
		if !isMethod {
			break
		}
		name := method.Sel.Name
		switch {
		case name == "Err":
			e.fields = append(e.fields, "error")
		case fieldMethods[name] && len(step.Args) == 2:
			e.fields = append(e.fields, fieldName(t, files, step.Args[0]))
		case logLevels[name] != "":
			e.level, isLog = logLevels[name], true
		case name == "With":
			isLog = true
		}
		at = method.X
	}
	slices.Reverse(e.fields)
	if end.Sel.Name == "Logger" {
		if !isLog {
			e.fields = nil
		}
		return e, false
	}
	if len(call.Args) != 1 || end.Sel.Name == "Msgf" || text(call.Args[0]) == "" {
		t.Errorf("%s: the message of an event is one constant text; put what varies into fields", files.Position(call.Pos()))
		return e, false
	}
	e.message = text(call.Args[0])
	return e, true
}

func fieldName(t *testing.T, files *gotoken.FileSet, arg ast.Expr) string {
	t.Helper()
	if s, ok := arg.(*ast.SelectorExpr); ok && s.Sel.Name == "ErrorFieldName" {
		return "error"
	}
	if text(arg) == "" {
		t.Errorf("%s: the name of a field is no constant text", files.Position(arg.Pos()))
	}
	return text(arg)
}

// text returns the value of a constant text, or "".
func text(e ast.Expr) string {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != gotoken.STRING {
		return ""
	}
	value, _ := strconv.Unquote(literal.Value)
	return value
}

// TestLogsAreDocumented reads every event from the source: docs/logs.md has exactly these
// events and fields. `go test ./cmd/minutebook -run TestLogsAreDocumented -update` writes
// its list of events.
func TestLogsAreDocumented(t *testing.T) {
	testrun.SkipUnderRace(t)
	events, fields := readEvents(t, "../..")
	rows := map[string]bool{}
	for _, e := range events {
		rows[fmt.Sprintf("| `%s` | %s | %s | %s |", e.room, e.message, e.level, strings.Join(e.fields, ", "))] = true
	}
	const path, begin, end = "../../docs/logs.md", "<!-- events -->\n", "<!-- end -->\n"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(raw), begin)
	_, tail, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("%s has no %q", path, end)
	}
	list := "| room | event | level | fields |\n| --- | --- | --- | --- |\n" + strings.Join(slices.Sorted(maps.Keys(rows)), "\n") + "\n"
	want := head + begin + list + end + tail
	if *updateLogs {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(raw) {
		t.Errorf("%s is not up to date: run this test with -update", path)
	}
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_0-9]+)` \\|").FindAllStringSubmatch(head, -1) {
		documented[row[1]] = true
	}
	for name := range fields {
		if !documented[name] {
			t.Errorf("%s does not say what the field %s is", path, name)
		}
		delete(documented, name)
	}
	for name := range documented {
		t.Errorf("%s has the field %s, which no event has", path, name)
	}
}

// TestLibrariesLogNoAnswers reports an answer that is longer than it announced, as
// net/http does, which quotes the answer's bytes: they do not come into the log.
func TestLibrariesLogNoAnswers(t *testing.T) {
	var log bytes.Buffer
	lines := libraryLines{zerolog.New(&log)}
	if _, err := lines.Write([]byte(`Unsolicited response received on idle HTTP channel starting with "{\"name\":\"Ada Example\"}"; err=<nil>` + "\n")); err != nil {
		t.Fatal(err)
	}
	if text := log.String(); !strings.Contains(text, "Unsolicited response") || strings.Contains(text, "Ada") {
		t.Errorf("the log has %s", text)
	}
}

// TestBleveReports has Bleve report a search: the line becomes part of the program's log.
func TestBleveReports(t *testing.T) {
	testrun.SkipUnderRace(t)
	var log bytes.Buffer
	cfg := config.Default()
	tieLibraries()
	(&Main{Stderr: &log}).logger(&cfg)
	bleve.Config.SlowSearchLogThreshold = time.Nanosecond
	t.Cleanup(func() { stdlog.SetOutput(os.Stderr); bleve.Config.SlowSearchLogThreshold = 0 })
	index, err := bleve.NewMemOnly(bleve.NewIndexMapping())
	if err == nil {
		_, err = index.Search(bleve.NewSearchRequest(bleve.NewMatchAllQuery()))
	}
	if err = errors.Join(err, index.Close()); err != nil {
		t.Fatal(err)
	}
	if text := log.String(); !strings.Contains(text, `"line":"slow search took`) || !strings.Contains(text, `"message":"a library reports"`) {
		t.Errorf("the log has %s", text)
	}
}
