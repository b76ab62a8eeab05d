package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
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

// exitCodes begin the reference.
const exitCodes = "# Commands\n\n" +
	"`minutebook docs` prints this page. Every command takes `-c FILE` or `--data DIR`.\n\n" +
	"| exit code | meaning |\n| --- | --- |\n" +
	"| 0 | done, or ended by Ctrl-C as it is meant to be |\n" +
	"| 1 | failed; standard error says why in one line |\n" +
	"| 2 | misuse: the command line or the configuration makes no sense |\n" +
	"| 3 to 5 | done in part: `import` left lines out (3), an account is not connected (3), `backup` removed no older one (3, 4), a log still holds what `forget` erased (5) |\n" +
	"| 6 | a database or a backup is of a later version; the program is too old for it |\n" +
	"| 10 to 24 | `verify`: the worst damage, see there; the same for a command that meets a damaged database |\n" +
	"| 30, 31 | `doctor`: the worst finding is a warning, an error |\n\n"

// referenceOf returns the reference of a command and all below it.
func referenceOf(root *cobra.Command) []byte {
	var b bytes.Buffer
	b.WriteString(exitCodes)
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			if sub.Hidden || sub.Name() == "help" || sub.Name() == "completion" {
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
			walk(sub)
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
