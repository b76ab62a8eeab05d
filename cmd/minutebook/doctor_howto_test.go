package main

import (
	"cmp"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// howTos has the row of docs/how-to/failures.md for each finding of doctor that is a warning
// or an error, and for some notes: the function that finds it, and words of the finding or of
// its remedy.
var howTos = []struct{ function, words, row string }{
	{"diagnose", "it cannot be opened", "the archive, or a database of it, cannot be opened"},
	{"diagnose", "does not end", "the daemon does not answer"},
	{"diagnose", "restart the daemon", "the daemon is of another version"},
	{"examineConfiguration", "or remove the variables", "a variable is unknown"},
	{"examineConfiguration", "minutebook reload", "the file has changed, the daemon runs an older one"},
	{"examineModes", "others can reach", "others can read a file"},
	{"examinePage", "", "the page does not answer at its public address, or something else does"},
	{"examineProxy", "whom %s.trusted_proxies does not name", "proxy headers are not believed"},
	{"examineProvider", "nobody can sign in", "nobody can sign in at the provider"},
	{"examineCertificates", "", "a certificate cannot be used, has expired or is for another name"},
	{"examineState", "it cannot be read", "the archive, or a database of it, cannot be opened"},
	{"examineDatabases", "cannot be opened", "the archive, or a database of it, cannot be opened"},
	{"examineLocks", "nothing is received", "another program has locked a database"},
	{"examineIndexFolder", "was removed", "the folder of the index was removed"},
	{"judgeState", "indexed", "the index is behind"},
	{"judgeState", "not wholly erased", "a forgotten meeting is not wholly erased yet"},
	{"judgeState", "no daemon is running", "no daemon is running"},
	{"judgeState", "in quarantine", "a delivery is in quarantine"},
	{"judgeState", "signed by no secret", "deliveries were refused"},
	{"judgeState", "the service refuses it", "the service refuses the account"},
	{"judgeState", "tried again", "a call fails and is tried again"},
	{"judgeState", "no recording is fetched", "no recording is fetched"},
	{"judgeState", "see the log", "a part of the sync pauses"},
	{"judgeState", "runs with other values", "the daemon runs with other values"},
	{"examineOrganisations", "different organisations", "two accounts belong to different organisations"},
	{"examineOrganisations", "cannot be read", "the archive, or a database of it, cannot be opened"},
	{"examineImports", "the watched folder %s", "the watched folder cannot be read"},
	{"examineImports", "in the watched folder", "files in the watched folder are refused"},
	{"examineRetention", "has changed the team", "a retention rule deletes recordings soon"},
	{"examineRetention", "correct the name", "a retention rule names a team or a type that no meeting has"},
	{"examineUpkeep", "backup; the last one, at", "the last backup failed"},
	{"examineUpkeep", "none was ever made", "a backup was never made, or is old"},
	{"examineUpkeep", "days old", "a backup was never made, or is old"},
	{"examineUpkeep", "docs/backup.md", "a backup names meetings or recordings"},
	{"examineUpkeep", "proof of the backup; see the reason", "the proof of the backup failed"},
	{"examineUpkeep", "it was never restored", "a backup was never restored"},
	{"examineUpkeep", "lists the damage", "damage was found"},
	{"examineUpkeep", "run `minutebook verify`", "the check failed"},
	{"examineChannels", "", "a channel of messages fails"},
	{"examineMedia", "", "the store of recordings cannot be used"},
	{"examineAccount", "correct the configuration", "an account cannot be used"},
	{"examineAccount", "the service refuses it", "the service refuses the account"},
	{"examineAccount", "another program", "the service asks to wait"},
	{"examineAccount", "is base_url right", "the call fails, no answer"},
	{"examineAccount", "check base_url", "the call fails, no answer"},
	{"examineClock", "", "the clock differs"},
	{"examineDeliveries", "does not arrive", "a delivery to this archive does not arrive"},
	{"judgeWrites", "nothing can be written", "nothing can be written"},
	{"judgeWrites", "within", "99 of 100 writes reach the disk late"},
	{"examineSpace", "", "the disk is nearly full, or full soon"},
	{"examineOtherDisk", "", "the disk is nearly full, or full soon"},
	{"examineBackupPlace", "", "the bucket of the backups cannot be used"},
	{"examineBackupDir", "", "the directory of the backups cannot be used"},
}

// TestEveryFindingHasAHowTo reads the source of doctor: each finding that is a warning or an
// error has a row in docs/how-to/failures.md, and each row of howTos a finding.
func TestEveryFindingHasAHowTo(t *testing.T) {
	text, err := os.ReadFile("../../docs/how-to/failures.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../control/doctor*.go")
	if err != nil {
		t.Fatal(err)
	}
	used, found := make([]bool, len(howTos)), 0
	for _, file := range append(files, "doctor.go") {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, f := range readFindings(t, file) {
			found++
			row := ""
			for i, h := range howTos {
				if h.function == f.function && strings.Contains(f.words, h.words) {
					row, used[i] = cmp.Or(row, h.row), true
				}
			}
			if f.mild && row == "" {
				continue
			}
			if row == "" || !strings.Contains(string(text), "\n| "+row+" |") {
				t.Errorf("%s, %s finds %q: failures.md has no row %q of it", file, f.function, f.words, row)
			}
		}
	}
	for i, h := range howTos {
		if !used[i] {
			t.Errorf("%s finds nothing with %q", h.function, h.words)
		}
	}
	if found < len(howTos) {
		t.Errorf("only %d findings were read", found)
	}
}

// foundInSource is a finding as the source has it: the texts of it, and of its remedy.
type foundInSource struct {
	function, words string
	mild            bool // ok, or a note
}

// readFindings returns the findings of a file, which are made by add or as a literal.
func readFindings(t *testing.T, path string) (findings []foundInSource) {
	t.Helper()
	file, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		function, ok := d.(*ast.FuncDecl)
		if !ok || function.Name.Name == "add" {
			continue
		}
		ast.Inspect(function, func(n ast.Node) bool {
			isFinding := false
			switch n := n.(type) {
			case *ast.CallExpr:
				isFinding = nameOf(n.Fun) == "add"
			case *ast.CompositeLit:
				isFinding = nameOf(n.Type) == "Finding"
			}
			if !isFinding {
				return true
			}
			words, mild := readWords(n)
			findings = append(findings, foundInSource{function.Name.Name, words, mild})
			return false
		})
	}
	return findings
}

// nameOf returns the last name of a function or a type.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.ArrayType:
		return nameOf(e.Elt)
	}
	return ""
}

// readWords returns the texts within a node, and whether its severity is ok or note.
func readWords(n ast.Node) (words string, mild bool) {
	var texts []string
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			mild = mild || n.Name == "SeverityOK" || n.Name == "SeverityNote"
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && text != "" {
				texts = append(texts, text)
			}
		}
		return true
	})
	return strings.Join(texts, "; "), mild
}
