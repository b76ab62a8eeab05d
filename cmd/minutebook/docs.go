package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"minutebook/archive"
)

// docsCmd writes the reference of the commands, for packages and docs/cli.md.
func (m *Main) docsCmd() *cobra.Command {
	var man string
	cmd := &cobra.Command{
		Use:    "docs",
		Short:  "Print the reference of the commands in Markdown, or write man pages",
		Hidden: true,
		Args:   checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			root := cmd.Root()
			root.DisableAutoGenTag = true
			if man == "" {
				_, err := m.Stdout.Write(referenceOf(root))
				return err
			}
			if err := os.MkdirAll(man, 0o755); err != nil {
				return fmt.Errorf("make the folder of the man pages: %w", err)
			}
			keepAngles(root)
			root.Long = root.Short + ".\n\n# EXIT STATUS\n" + formatExitCodes("**%s**\n\t%s\n\n")
			// Their date is that of SOURCE_DATE_EPOCH, which keeps packages the same byte for byte.
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "Minutebook", Manual: "Minutebook"}, man)
		},
	}
	cmd.Flags().StringVar(&man, "man", "", "write man pages into this `directory`")
	return cmd
}

// keepAngles has man pages show the angle brackets of texts, which are Markdown there: an
// address between them would be taken for a tag and left out.
func keepAngles(cmd *cobra.Command) {
	escape := strings.NewReplacer("<", `\<`, ">", `\>`).Replace
	cmd.Long, cmd.Example = escape(cmd.Long), escape(cmd.Example)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { f.Usage = escape(f.Usage) })
	for _, sub := range cmd.Commands() {
		keepAngles(sub)
	}
}

// exitCode is an exit code, or several, with the meaning.
type exitCode struct {
	from, to int
	meaning  string
}

var exitCodes = []exitCode{
	{0, 0, "done, or ended by Ctrl-C as it is meant to be"},
	{1, 1, "failed, or interrupted before it was done; standard error says why in one line"},
	{2, 2, "misuse: the command line or the configuration makes no sense"},
	{3, 3, "done in part: import left lines out, an account is not connected, backup removed no older one"},
	{4, 4, "backup lacks recordings, and removed no older one"},
	{5, 5, "forget: a log still holds what it erased"},
	{6, 6, "a database or a backup is of a later version; the program is too old for it"},
	{archive.DamageDatabase.ExitCode(), archive.DamageAudit.ExitCode(), "verify: the worst damage, see there; the same for a command that meets a damaged database"},
	{exitDoctorWarning, exitDoctorWarning, "doctor: the worst finding is a warning"},
	{exitDoctorError, exitDoctorError, "doctor: the worst finding is an error"},
}

// formatExitCodes writes each exit code, or several, and the meaning by a format.
func formatExitCodes(format string) string {
	var b strings.Builder
	for _, c := range exitCodes {
		codes := fmt.Sprint(c.from)
		if c.to != c.from {
			codes = fmt.Sprintf("%d to %d", c.from, c.to)
		}
		fmt.Fprintf(&b, format, codes, c.meaning)
	}
	return b.String()
}

// referenceOf returns the reference of a command and all below it.
func referenceOf(root *cobra.Command) []byte {
	var b bytes.Buffer
	b.WriteString("# Commands\n\n`minutebook docs` prints this page. Every command takes `-c FILE` or `--data DIR`.\n\n" +
		"| exit code | meaning |\n| --- | --- |\n" + formatExitCodes("| %s | %s |\n") + "\n")
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			if sub.Hidden || sub.Name() == "help" {
				continue
			}
			fmt.Fprintf(&b, "## %s\n\n%s\n\n", sub.CommandPath(), strings.TrimSpace(orShort(sub)))
			if sub.Runnable() && sub.HasAvailableLocalFlags() || !sub.HasSubCommands() {
				fmt.Fprintf(&b, "```\n%s\n", sub.UseLine())
				if flags := sub.LocalFlags().FlagUsages(); flags != "" {
					fmt.Fprintf(&b, "\n%s", flags)
				}
				b.WriteString("```\n\n")
			}
			if sub.Name() != "completion" { // its commands differ by the shell alone
				walk(sub)
			}
		}
	}
	walk(root)
	return append(bytes.TrimSpace(b.Bytes()), '\n')
}

// orShort returns the long description of a command, or the short one.
func orShort(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return cmd.Long
	}
	return cmd.Short + "."
}

// completeShells adds `completion`. Its scripts offer meetings by the words of their titles,
// though their numbers do not begin as typed.
func (m *Main) completeShells(root *cobra.Command) {
	root.SetOut(scriptWriter{m.Stdout})
	root.InitDefaultCompletionCmd()
	root.SetOut(m.Stdout)
	group, _, _ := root.Find([]string{"completion"})
	group.Short = "Print the script that has a shell complete commands, names and numbers"
	group.Long = `Prints the script that has a shell complete commands, flags and their values, and accounts.
Beside a running daemon it also completes people, users of the service, the numbers of
deliveries, and meetings: the newest ones where nothing is typed, of the newest 100 those whose
numbers begin with the digits typed, and otherwise those whose titles have a word that begins
so. Without a daemon these are not offered, since the whole archive would be opened for each.
The packages install the scripts for bash, zsh and fish; the help of each says how to load it
otherwise.`
}

// scriptWriter writes cobra's scripts, changed for candidates that are [chosen].
type scriptWriter struct{ to io.Writer }

// Write implements [io.Writer].
func (w scriptWriter) Write(p []byte) (int, error) {
	if _, err := chosenScripts.WriteString(w.to, string(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// chosenScripts changes cobra's scripts for bash and zsh; fish looks for the typed word in
// descriptions too. Several candidates that do not begin as typed leave the typed word where it
// is: their common beginning would replace it.
var chosenScripts = strings.NewReplacer(`
    __minutebook_process_completion_results
}`, `
    local typed=$cur
    ((directive & 32)) && cur=""
    __minutebook_process_completion_results
    if ((directive & 32 && ${#COMPREPLY[*]} > 1)) && [[ ${COMPREPLY[0]} != "$typed"* && $COMP_TYPE != 37 && $COMP_TYPE != 42 ]]; then
        COMPREPLY+=(" ") # begins with nothing in common
    fi
}`, `
        keepOrder="-V"`, `
        keepOrder="-V"
        noSpace+=" -U" # does not compare
        if [[ ${#completions} -gt 1 && ${completions[1]} != "${lastParam}"* && $compstate[insert] == *unambiguous ]]; then
            compstate[insert]=""
        fi`)

// versionResult is the form of `version --json`.
type versionResult struct {
	Version  string `json:"version"`
	Go       string `json:"go"`       // that built it
	Platform string `json:"platform"` // such as linux/amd64
}

func (m *Main) versionCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if m.json {
				return printJSON(m.Stdout, versionResult{m.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
			}
			_, err := fmt.Fprint(m.Stdout, m.describeVersion())
			return err
		},
	})
}

// describeVersion returns the version in a line.
func (m *Main) describeVersion() string {
	return fmt.Sprintf("minutebook %s (%s, %s/%s)\n", m.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
