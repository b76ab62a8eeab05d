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

	"minutebook/api"
	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/nearest"
	"minutebook/internal/phrase"
	"minutebook/service"
)

// finishCommand makes every misuse of a command, and of those below it, a [usageError],
// and completes the first argument.
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
	m.completeArguments(cmd)
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

// mayBeEmpty are the flags of setup whose empty text is an answer.
var mayBeEmpty = []string{"email", "public-url", "receiver-url"}

// refuseEmpty fails for an argument or the text of a flag without a character, unless it is
// the query of a search: a variable of a script that is not set would make a backup of, or an
// import from, the working directory, and would mean another archive or all accounts.
func refuseEmpty(cmd *cobra.Command, args []string) (err error) {
	if slices.Contains(args, "") && !strings.HasSuffix(cmd.Use, " QUERY") {
		err = &usageError{fmt.Errorf("%s: an argument is empty", cmd.CommandPath())}
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		isEmpty := f.Value.Type() == "string" && f.Value.String() == ""
		if list, ok := f.Value.(pflag.SliceValue); ok {
			texts := list.GetSlice()
			isEmpty = len(texts) == 0 || slices.Contains(texts, "")
		}
		if isEmpty && !slices.Contains(mayBeEmpty, f.Name) {
			err = &usageError{fmt.Errorf("%s: %s is empty; give a text, or leave it out", cmd.CommandPath(), nameFlag(f))}
		}
	})
	return err
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

// completeArguments completes the first argument of a command by its name in the use.
func (m *Main) completeArguments(cmd *cobra.Command) {
	if cmd.ValidArgsFunction != nil || len(cmd.ValidArgs) > 0 {
		return
	}
	var complete cobra.CompletionFunc
	name, takes, _ := strings.Cut(cmd.Use, " ")
	argument, _, _ := strings.Cut(strings.Trim(takes, "[]"), " ")
	switch {
	case argument == "EMAIL":
		complete = m.completePerson
	case argument == "ACCOUNT":
		complete = m.completeAccount
	case name == "show", name == "history", name == "forget":
		complete = m.completeMeeting
	case name == "replay":
		complete = m.completeReceived
	case name == "retry":
		complete = m.completeSending
	default:
		return
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, typed)
	}
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
		case f.Name == "person":
			complete = m.completePerson
		case f.Name == "user":
			complete = m.completeUser
		case ok && len(checked.words) > 0:
			complete = cobra.FixedCompletions(checked.words, cobra.ShellCompDirectiveNoFileComp)
		default:
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // fails only for a flag that is not there
	})
}

// completeAccount offers the accounts of the configuration.
func (m *Main) completeAccount(*cobra.Command, []string, string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	path, err := m.configFile()
	if err != nil {
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

// completePerson offers the addresses of the people who may enter.
func (m *Main) completePerson(cmd *cobra.Command, _ []string, _ string) (addresses []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, p := range ask[[]control.ListedPerson](m, cmd, "user.list", struct{}{}) {
		addresses = append(addresses, cobra.CompletionWithDesc(p.Address(), phrase.Tame(p.Name)))
	}
	return addresses, cobra.ShellCompDirectiveNoFileComp
}

// completeUser offers the addresses of the service's users.
func (m *Main) completeUser(cmd *cobra.Command, _ []string, _ string) (addresses []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, u := range ask[[]api.User](m, cmd, "service.users.list", control.ServiceRequest{}) {
		addresses = append(addresses, cobra.CompletionWithDesc(phrase.Tame(u.Email), phrase.Tame(u.Name.Or(""))))
	}
	return addresses, cobra.ShellCompDirectiveNoFileComp
}

// offered is how many meetings and deliveries a completion offers.
const offered = 20

// chosen says that the shell offers the candidates as they are. Cobra means their order by
// this; [chosenScripts] does not compare them with the typed word either.
const chosen = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder

// completeMeeting offers the newest meetings, of a number those that begin so, and of another
// word those whose titles have a word that begins with the last one typed. Digits are never
// looked for in titles: the shell would replace a number by another.
func (m *Main) completeMeeting(cmd *cobra.Command, _ []string, typed string) (ids []cobra.Completion, _ cobra.ShellCompDirective) {
	if strings.Trim(typed, "0123456789") == "" {
		ids = keepBeginning(m.findMeetings(cmd, "", 5*offered), typed)
		return ids[:min(len(ids), offered)], chosen
	}
	return m.findMeetings(cmd, "in:title "+typed+"*", offered), chosen
}

// findMeetings returns the meetings that a query finds.
func (m *Main) findMeetings(cmd *cobra.Command, query string, limit int) (ids []cobra.Completion) {
	for _, meeting := range ask[control.SearchResult](m, cmd, "search", control.SearchRequest{Query: query, Limit: limit, Moments: 1}).Meetings {
		ids = append(ids, cobra.CompletionWithDesc(fmt.Sprint(meeting.RecordingID), formatDay(meeting.Start)+" "+phrase.Tame(meeting.Title)))
	}
	return ids
}

// keepBeginning returns the candidates that begin as typed.
func keepBeginning(all []cobra.Completion, typed string) []cobra.Completion {
	return slices.DeleteFunc(all, func(c cobra.Completion) bool { return !strings.HasPrefix(c, typed) })
}

// completeReceived offers the numbers of the latest deliveries that came.
func (m *Main) completeReceived(cmd *cobra.Command, _ []string, typed string) (numbers []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, d := range ask[[]control.DeliveryInfo](m, cmd, "webhook.deliveries", control.DeliveriesRequest{Limit: offered}) {
		numbers = append(numbers, cobra.CompletionWithDesc(fmt.Sprint(d.ID), strings.Join([]string{d.ReceivedAt.Local().Format(time.DateTime), d.State, d.Account, d.Kind}, " ")))
	}
	return keepBeginning(numbers, typed), chosen
}

// completeSending offers the numbers of the deliveries that the service has to send.
func (m *Main) completeSending(cmd *cobra.Command, _ []string, typed string) (numbers []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, d := range ask[[]service.Delivery](m, cmd, "service.deliveries.list", control.ServiceRequest{State: "pending", Limit: offered}) {
		numbers = append(numbers, cobra.CompletionWithDesc(fmt.Sprint(d.ID), fmt.Sprintf("%s of meeting %d, %s", d.Kind, d.RecordingID, phrase.Count(d.Attempts, "attempt", "attempts"))))
	}
	return keepBeginning(numbers, typed), chosen
}

// completionTime is how long the daemon may take for a completion.
const completionTime = 2 * time.Second

// ask returns the daemon's answer, or nothing where none runs: without a daemon an answer
// would open the whole archive.
func ask[R any](m *Main, cmd *cobra.Command, operation string, q any) (result R) {
	dir, err := m.findDataDir()
	if err != nil {
		return result
	}
	ctx, stop := context.WithTimeout(cmd.Context(), completionTime)
	defer stop()
	daemon, err := control.Dial(ctx, dir)
	if err != nil {
		return result
	}
	defer daemon.Close()
	result, _ = control.Call[R](ctx, daemon, operation, q, nil) // after an error there is nothing to offer
	return result
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
