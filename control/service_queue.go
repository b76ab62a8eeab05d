package control

import (
	"context"

	"minutebook/service"
)

// defaultListed is the default number of listed deliveries.
const defaultListed = 50

func listDeliveries(ctx context.Context, s *service.Service, q ServiceRequest) ([]service.Delivery, error) {
	if q.Limit <= 0 {
		q.Limit = defaultListed
	}
	return s.Deliveries(ctx, q.State, q.Limit)
}

func retryDelivery(ctx context.Context, s *service.Service, q ServiceRequest) (*Done, error) {
	return &Done{true}, s.RetryDelivery(ctx, q.Delivery)
}

func listWebhooks(ctx context.Context, s *service.Service, _ ServiceRequest) ([]service.Hook, error) {
	return s.Hooks(ctx)
}

func enableWebhook(ctx context.Context, s *service.Service, q ServiceRequest) (*Done, error) {
	return &Done{true}, s.EnableWebhook(ctx, q.ID)
}

func deleteWebhook(ctx context.Context, s *service.Service, q ServiceRequest) (*Done, error) {
	return &Done{true}, s.DeleteWebhook(ctx, q.ID)
}

func finishMeeting(ctx context.Context, s *service.Service, _ ServiceRequest) (*Finished, error) {
	id, ok, err := s.Finish(ctx)
	return &Finished{id, ok}, err
}

func changeLimits(ctx context.Context, s *service.Service, q ServiceRequest) (*service.Limits, error) {
	if q.Limits == nil {
		l := s.Limits()
		return &l, nil
	}
	l, err := s.ChangeLimits(ctx, func(l *service.Limits) {
		set(&l.Elevated, q.Limits.Elevated)
		set(&l.Global, q.Limits.Global)
		set(&l.Heavy, q.Limits.Heavy)
		set(&l.DownloadLimit, q.Limits.DownloadLimit)
		set(&l.Window, q.Limits.Window)
	})
	return &l, err
}

// set assigns a value that is there.
func set[T any](to *T, value *T) {
	if value != nil {
		*to = *value
	}
}
