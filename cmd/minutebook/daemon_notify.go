package main

import (
	"context"
	"time"

	"minutebook/internal/pause"
	"minutebook/web"
)

// notifyPause is between two looks for new matches of saved searches.
const notifyPause = 5 * time.Second

// runNotifications tells the addresses of saved searches of new meetings until ctx ends,
// by the page of the present configuration.
func (d *daemon) runNotifications(ctx context.Context) error {
	for {
		if page, ok := (*d.page.current.Load()).(*web.Handler); ok {
			if err := page.Notify(ctx); err != nil && ctx.Err() == nil {
				d.log.Error().Err(err).Msg("look for new matches of saved searches; the next look is soon")
			}
		}
		if err := pause.For(ctx, notifyPause); err != nil {
			return err
		}
	}
}
