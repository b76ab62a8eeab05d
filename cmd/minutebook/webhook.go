package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minutebook/control"
)

func (m *Main) webhookCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "webhook", Short: "Register webhooks at the service and look after their deliveries"}
	cmd.AddCommand(m.webhookCreateCmd(), m.webhookListCmd(), m.webhookDeleteCmd(), m.webhookRotateCmd(), m.webhookTestCmd(),
		m.webhookDeliveriesCmd(), m.webhookQuarantineCmd(), m.webhookReplayCmd())
	return cmd
}

func (m *Main) webhookCreateCmd() *cobra.Command {
	var q control.WebhookRequest
	cmd := &cobra.Command{
		Use:   "create ACCOUNT",
		Short: "Have the service deliver an account's new meetings here",
		Args:  checkArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Account = args[0]
			return performWebhook(m, cmd, "webhook.create", q, func(i control.WebhookInfo) {
				fmt.Fprintf(m.Stdout, "%s delivers to %s\n", i.ID, i.URL)
			})
		},
	}
	cmd.Flags().StringSliceVar(&q.Triggers, "trigger", nil, "only for these `scopes`: "+strings.Join(control.Triggers(), ", ")+" (default: all)")
	cmd.Flags().StringSliceVar(&q.Include, "include", nil, "only these `parts`: "+strings.Join(control.Includes(), ", ")+" (default: all)")
	limitFlag(cmd.Flags(), "trigger", control.Triggers()...)
	limitFlag(cmd.Flags(), "include", control.Includes()...)
	return m.jsonFlag(cmd)
}

func (m *Main) webhookListCmd() *cobra.Command {
	var q control.WebhookRequest
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the webhooks that this archive has at the service",
		Args:  checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return performWebhook(m, cmd, "webhook.list", q, func(list []control.WebhookInfo) {
				for _, i := range list {
					fmt.Fprintf(m.Stdout, "%s  %-8s  %s  %s  %s\n", i.ID, i.State, i.Account, i.CreatedAt.Local().Format(time.DateTime), i.URL)
					if i.Advice != "" {
						fmt.Fprintf(m.Stdout, "    %s\n", i.Advice)
					}
				}
			})
		},
	}
	cmd.Flags().StringVar(&q.Account, "account", "", "only this account's")
	return m.jsonFlag(cmd)
}

func (m *Main) webhookDeleteCmd() *cobra.Command {
	var q control.WebhookRequest
	cmd := &cobra.Command{
		Use:   "delete ID",
		Short: "Delete a webhook at the service",
		Args:  checkArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.ID = args[0]
			return performWebhook(m, cmd, "webhook.delete", q, func(d control.WebhookDeleted) {
				fmt.Fprintf(m.Stdout, "deleted %s\n", q.ID)
				if d.Advice != "" {
					fmt.Fprintln(m.Stdout, d.Advice)
				}
			})
		},
	}
	cmd.Flags().StringVar(&q.Account, "account", "", "whose webhook it is, where that is not clear")
	return m.jsonFlag(cmd)
}

func (m *Main) webhookRotateCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use:   "rotate ACCOUNT",
		Short: "Replace an account's webhook and secret by new ones, without a gap",
		Args:  checkArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return performWebhook(m, cmd, "webhook.rotate", control.WebhookRequest{Account: args[0]}, func(i control.WebhookInfo) {
				fmt.Fprintf(m.Stdout, "%s delivers to %s\n", i.ID, i.URL)
			})
		},
	})
}

func (m *Main) webhookTestCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use:   "test ACCOUNT",
		Short: "Send a signed delivery through the public address and follow it to the index",
		Args:  checkArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return performWebhook(m, cmd, "webhook.test", control.WebhookRequest{Account: args[0]}, func(t control.WebhookTested) {
				fmt.Fprintf(m.Stdout, "recording %d: acknowledged after %d ms, applied after %d ms, indexed after %d ms\n",
					t.RecordingID, t.Acknowledged, t.Applied, t.Indexed)
			})
		},
	})
}

// performWebhook runs an operation and prints its result: as JSON, or as show does.
// The steps of rotate and test are printed as they come.
func performWebhook[R any](m *Main, cmd *cobra.Command, name string, q any, show func(R)) error {
	event := func(raw json.RawMessage) error {
		var step control.WebhookStep
		if m.json || json.Unmarshal(raw, &step) != nil {
			return nil
		}
		_, err := fmt.Fprintln(m.Stdout, step.Step)
		return err
	}
	return perform(m, cmd, name, q, event, func(result R) error { show(result); return nil })
}
