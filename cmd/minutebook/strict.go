package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/nearest"
	"minutebook/internal/phrase"
)

// finishCommand makes every misuse of a command, and of those below it, a [usageError],
// and completes accounts, formats and meetings.
func (m *Main) finishCommand(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		m.finishCommand(sub)
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			var usage *usageError
			if err == nil || errors.As(err, &usage) {
				return err
			}
			return explainArgs(cmd, args)
		}
	}
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(refuseNegative(cmd), refuseEmpty(cmd, args)); err != nil {
				return err
			}
			return run(cmd, args)
		}
	}
	switch {
	case cmd.ValidArgsFunction != nil || len(cmd.ValidArgs) > 0:
	case strings.HasSuffix(cmd.Use, " EMAIL"), strings.HasSuffix(cmd.Use, " [EMAIL]"):
		cmd.ValidArgsFunction = m.completePerson
	case strings.Contains(cmd.Use, "ACCOUNT"):
		cmd.ValidArgsFunction = m.completeAccount
	case strings.HasPrefix(cmd.Use, "show "), strings.HasPrefix(cmd.Use, "history "), strings.HasPrefix(cmd.Use, "forget "):
		cmd.ValidArgsFunction = m.completeMeeting
	}
}

// explainArgs says which arguments a command takes.
func explainArgs(cmd *cobra.Command, args []string) error {
	if cmd.HasSubCommands() && len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	_, takes, _ := strings.Cut(cmd.Use, " ")
	if takes == "" || strings.HasPrefix(takes, "-") {
		return &usageError{fmt.Errorf("%s takes no argument, and %q is one", cmd.CommandPath(), args[0])}
	}
	return &usageError{fmt.Errorf("%s takes %s, and %d arguments were given", cmd.CommandPath(), takes, len(args))}
}

// refuseEmpty fails for an argument without a character, unless it is a query: a variable of
// a script that is not set would make a backup of, or an import from, the working directory.
func refuseEmpty(cmd *cobra.Command, args []string) error {
	if slices.Contains(args, "") && !strings.Contains(cmd.Use, "QUERY") {
		return &usageError{fmt.Errorf("%s: an argument is empty", cmd.CommandPath())}
	}
	return nil
}

// refuseNegative fails for a number or a duration below zero, which no flag takes.
func refuseNegative(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Value.Type() {
		case "int", "int64", "float64", "duration":
			if strings.HasPrefix(f.Value.String(), "-") {
				err = &usageError{fmt.Errorf("--%s takes %s from 0 on, not %s", f.Name, describeFlagType(f.Value.Type()), f.Value)}
			}
		}
	})
	return err
}

// completeFlags completes the values of flags by the flags' names, for a command and
// those below it.
func (m *Main) completeFlags(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		m.completeFlags(sub)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		var complete cobra.CompletionFunc
		checked, ok := f.Value.(*checkedFlag)
		switch {
		case f.Name == "account":
			complete = m.completeAccount
		case ok && len(checked.words) > 0:
			complete = cobra.FixedCompletions(checked.words, cobra.ShellCompDirectiveNoFileComp)
		default:
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // fails only for a flag that is not there
	})
}

// completeAccount offers the accounts of the configuration.
func (m *Main) completeAccount(_ *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	path, err := m.configFile()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cfg, err := config.Load(path, m.dataDir, m.Environ)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, a := range cfg.Accounts {
		names = append(names, cobra.CompletionWithDesc(a.Name, a.Email))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completionTime is how long the daemon may take for a completion.
const completionTime = 2 * time.Second

// completePerson offers the addresses of the people who may enter, while a daemon runs.
func (m *Main) completePerson(cmd *cobra.Command, args []string, _ string) (addresses []cobra.Completion, _ cobra.ShellCompDirective) {
	cfg, err := m.loadConfig()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, stop := context.WithTimeout(cmd.Context(), completionTime)
	defer stop()
	daemon, err := control.Dial(ctx, cfg.DataDir)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer daemon.Close()
	people, err := control.Call[[]control.ListedPerson](ctx, daemon, "user.list", struct{}{}, nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, p := range people {
		addresses = append(addresses, cobra.CompletionWithDesc(p.Address(), phrase.Tame(p.Name)))
	}
	return addresses, cobra.ShellCompDirectiveNoFileComp
}

// completeMeeting offers the meetings whose titles have a word that begins with the last
// one typed, while a daemon runs: without one an answer would open the whole archive.
func (m *Main) completeMeeting(cmd *cobra.Command, args []string, typed string) (ids []cobra.Completion, _ cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	cfg, err := m.loadConfig()
	if err != nil || len(args) > 0 || typed == "" {
		return nil, directive
	}
	ctx, stop := context.WithTimeout(cmd.Context(), completionTime)
	defer stop()
	daemon, err := control.Dial(ctx, cfg.DataDir)
	if err != nil {
		return nil, directive
	}
	defer daemon.Close()
	found, err := control.Call[control.SearchResult](ctx, daemon, "search", control.SearchRequest{Query: "in:title " + typed + "*", Limit: 20, Moments: 1}, nil)
	if err != nil {
		return nil, directive
	}
	for _, meeting := range found.Meetings {
		ids = append(ids, cobra.CompletionWithDesc(fmt.Sprint(meeting.RecordingID), formatDay(meeting.Start)+" "+phrase.Tame(meeting.Title)))
	}
	return ids, directive
}

// explainFlagError puts a mistake in a flag into words, and names the flag that may be meant.
func explainFlagError(cmd *cobra.Command, err error) error {
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return &usageError{fmt.Errorf("%s needs a value", nameFlag(missing.GetFlag()))}
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if unknown.GetSpecifiedShortnames() != "" {
			return &usageError{fmt.Errorf("%s has no flag -%s; -h shows those it has", cmd.CommandPath(), unknown.GetSpecifiedName())}
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		text := fmt.Sprintf("%s has no flag --%s", cmd.CommandPath(), unknown.GetSpecifiedName())
		if near := nearest.Word(unknown.GetSpecifiedName(), names); near != "" {
			text += fmt.Sprintf("; did you mean --%s?", near)
		}
		return &usageError{errors.New(text)}
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := invalid.GetFlag()
		if checked, ok := f.Value.(*checkedFlag); ok {
			return &usageError{checked.refuse(f.Name, invalid.GetValue())}
		}
		return &usageError{fmt.Errorf("--%s takes %s, not %q", f.Name, describeFlagType(f.Value.Type()), invalid.GetValue())}
	}
	return &usageError{err}
}

// nameFlag writes a flag as people give it.
func nameFlag(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return fmt.Sprintf("--%s (-%s)", f.Name, f.Shorthand)
	}
	return "--" + f.Name
}

// describeFlagType names the type of a flag in words.
func describeFlagType(name string) string {
	switch name {
	case "int", "int64", "uint", "uint64", "count":
		return "a whole number"
	case "float64":
		return "a number"
	case "duration":
		return "a duration such as 30s or 36h"
	case "bool":
		return "true or false"
	}
	return "another value"
}

// groupError matches cobra's complaint about flags that exclude each other.
var groupError = regexp.MustCompile(`^if any flags in the group \[(.*)\] are set none of the others can be; \[.*\] were all set$`)

// quotedName matches a flag in cobra's complaints.
var quotedName = regexp.MustCompile(`"([^"]*)"`)

// asUsage makes cobra's own complaints about a command line a [usageError], in words.
func asUsage(err error) error {
	if found := groupError.FindStringSubmatch(err.Error()); found != nil {
		return &usageError{fmt.Errorf("--%s exclude each other", strings.Join(strings.Fields(found[1]), " and --"))}
	}
	if names, found := strings.CutPrefix(err.Error(), "required flag(s) "); found {
		return &usageError{errors.New("give " + quotedName.ReplaceAllString(strings.TrimSuffix(names, " not set"), "--$1"))}
	}
	return err
}
