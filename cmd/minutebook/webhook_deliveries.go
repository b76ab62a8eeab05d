package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"minutebook/archive/inbox"
	"minutebook/control"
)

func (m *Main) webhookDeliveriesCmd() *cobra.Command {
	var q control.DeliveriesRequest
	cmd := &cobra.Command{
		Use:   "deliveries",
		Short: "List what was delivered, the latest first",
		Args:  checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.printDeliveries(cmd, q)
		},
	}
	cmd.Flags().StringVar(&q.State, "state", "", "only `received`, applied or quarantined ones")
	limitFlag(cmd.Flags(), "state", inbox.StateReceived, inbox.StateApplied, inbox.StateQuarantined)
	return m.listFlags(cmd, &q)
}

func (m *Main) webhookQuarantineCmd() *cobra.Command {
	q := control.DeliveriesRequest{State: inbox.StateQuarantined}
	cmd := &cobra.Command{
		Use:   "quarantine",
		Short: "List deliveries that were signed and could not be understood, and why",
		Args:  checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.printDeliveries(cmd, q)
		},
	}
	return m.listFlags(cmd, &q)
}

func (m *Main) listFlags(cmd *cobra.Command, q *control.DeliveriesRequest) *cobra.Command {
	cmd.Flags().StringVar(&q.Account, "account", "", "only this account's")
	cmd.Flags().Int64Var(&q.Before, "before", 0, "only those before this `number`")
	cmd.Flags().IntVar(&q.Limit, "limit", 50, "how many")
	return m.jsonFlag(cmd)
}

func (m *Main) printDeliveries(cmd *cobra.Command, q control.DeliveriesRequest) error {
	return performWebhook(m, cmd, "webhook.deliveries", q, func(list []control.DeliveryInfo) {
		for _, d := range list {
			m.printDelivery(d)
		}
	})
}

func (m *Main) printDelivery(d control.DeliveryInfo) {
	fmt.Fprintf(m.Stdout, "%d  %s  %-11s  %s  %s  %s  %d bytes", d.ID, d.ReceivedAt.Local().Format(time.DateTime), d.State, d.Account,
		d.Kind, d.WebhookID, d.Size)
	if d.RecordingID != 0 {
		fmt.Fprintf(m.Stdout, "  recording %d", d.RecordingID)
	}
	if d.Reason != "" {
		fmt.Fprintf(m.Stdout, "  %s", d.Reason)
	}
	fmt.Fprintln(m.Stdout)
}

func (m *Main) webhookReplayCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use:   "replay NUMBER",
		Short: "Apply a delivery again, whatever became of it",
		Args:  checkArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || id <= 0 {
				return &usageError{fmt.Errorf("replay %q: give the delivery's number; see minutebook webhook deliveries", args[0])}
			}
			return performWebhook(m, cmd, "webhook.replay", control.ReplayRequest{ID: id}, func(d control.DeliveryInfo) { m.printDelivery(d) })
		},
	})
}
