package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minutebook/control"
	"minutebook/internal/phrase"
	"minutebook/service"
)

func (m *Main) appsCreateCmd() *cobra.Command {
	var q control.ServiceRequest
	cmd := adminCommand(m, "create --name NAME --redirect-uri URL", "Register an OAuth app; its secret is shown once", "service.apps.create", &q, func(a control.NewApp) {
		fmt.Fprintf(m.Stdout, "client_id %s\nclient_secret %s\n", a.ClientID, a.ClientSecret)
	})
	f := cmd.Flags()
	f.StringVar(&q.Name, "name", "", "the app's `name`, shown to who is asked for consent")
	f.StringArrayVar(&q.Redirects, "redirect-uri", nil, "an https `URL` (several with --development)")
	f.BoolVar(&q.Development, "development", false, "an app in development may have several redirect URIs")
	checkFlag(f, "redirect-uri", "an https:// address without a fragment", service.CheckRedirect)
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if len(q.Redirects) > 1 && !q.Development {
			return &usageError{errors.New("several --redirect-uri need --development; in production each has an app of its own")}
		}
		return nil
	}
	return requireFlags(cmd, "name", "redirect-uri")
}

func (m *Main) appsListCmd() *cobra.Command {
	return adminCommand(m, "list", "List OAuth apps", "service.apps.list", &control.ServiceRequest{}, func(apps []service.App) {
		w, flush := m.newTable()
		defer flush()
		for _, a := range apps {
			fmt.Fprintf(w, "%s\t%s\t%s\n", a.ClientID, a.Name, strings.Join(a.RedirectURIs, " "))
		}
	})
}

func (m *Main) appsDeleteCmd() *cobra.Command {
	return adminCommand(m, "delete CLIENT-ID", "Remove an OAuth app; its tokens stop working", "service.apps.delete", &control.ServiceRequest{}, func(control.Done) {})
}

func (m *Main) appsAuthorizeCmd() *cobra.Command {
	var q control.ServiceRequest
	var redirect string
	cmd := &cobra.Command{
		Use: "authorize --client-id ID --user EMAIL", Short: "Consent for a user without a browser (sandbox only)", Args: checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if redirect != "" {
				q.Redirects = []string{redirect}
			}
			return performService(m, cmd, "service.apps.authorize", q, func(c control.AppCode) { fmt.Fprintln(m.Stdout, c.Code) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.ID, "client-id", "", "the app's `id`")
	f.StringVar(&q.Email, "user", "", "who consents, by `email`")
	f.StringVar(&redirect, "redirect-uri", "", "one of the app's redirect `URL`s (default: its only one)")
	checkAddress(f, "user")
	return m.jsonFlag(requireFlags(cmd, "client-id", "user"))
}

func (m *Main) deliveriesListCmd() *cobra.Command {
	var q control.ServiceRequest
	cmd := adminCommand(m, "list", "List what was and will be sent, newest first", "service.deliveries.list", &q, func(list []service.Delivery) {
		w, flush := m.newTable()
		defer flush()
		for _, d := range list {
			next := ""
			if !d.NextAt.IsZero() {
				next = "next " + d.NextAt.Format(time.RFC3339)
			}
			fmt.Fprintf(w, "%d\t%s\t%d\t%s\t%s\t%s\t%s\n", d.ID, d.Kind, d.RecordingID, d.State, phrase.Count(d.Attempts, "attempt", "attempts"), next, d.LastError)
		}
	})
	cmd.Flags().StringVar(&q.State, "state", "", "only those in one `state`")
	limitFlag(cmd.Flags(), "state", "pending", "done", "failed", "skipped", "withheld", "deleted", "disabled", "restored")
	cmd.Flags().IntVar(&q.Limit, "limit", 50, "at most this many")
	return cmd
}

func (m *Main) deliveriesRetryCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use: "retry ID", Short: "Send a waiting delivery now", Args: checkArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return &usageError{fmt.Errorf("read the delivery's number %q: see minutebook service deliveries list", args[0])}
			}
			return performService(m, cmd, "service.deliveries.retry", control.ServiceRequest{Delivery: id}, func(control.Done) {})
		},
	})
}

func (m *Main) webhooksListCmd() *cobra.Command {
	return adminCommand(m, "list", "List webhooks, disabled ones with the reason", "service.webhooks.list", &control.ServiceRequest{}, func(hooks []service.Hook) {
		w, flush := m.newTable()
		defer flush()
		for _, h := range hooks {
			state := "active"
			if !h.DisabledAt.IsZero() {
				state = "disabled: " + h.Reason
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", h.ID, h.Email, h.URL, state)
		}
	})
}

func (m *Main) webhooksEnableCmd() *cobra.Command {
	return adminCommand(m, "enable WEBHOOK-ID", "Enable a disabled webhook again; it is sent what is recorded from now on", "service.webhooks.enable", &control.ServiceRequest{}, func(control.Done) {})
}

func (m *Main) webhooksDeleteCmd() *cobra.Command {
	return adminCommand(m, "delete WEBHOOK-ID", "Delete anybody's webhook, which is sent nothing any more", "service.webhooks.delete", &control.ServiceRequest{}, func(control.Done) {})
}
