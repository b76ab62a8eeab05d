package control

import (
	"context"

	"minutebook/service"
)

// defaultListed is how many deliveries are listed unless asked otherwise.
const defaultListed = 50

func (o serviceOperations) listDeliveries(ctx context.Context, q ServiceRequest, _ Emit) ([]service.Delivery, error) {
	s, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	if q.Limit <= 0 {
		q.Limit = defaultListed
	}
	return s.Deliveries(ctx, q.State, q.Limit)
}

func (o serviceOperations) retryDelivery(ctx context.Context, q ServiceRequest, _ Emit) (*Done, error) {
	s, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	return &Done{true}, s.RetryDelivery(ctx, q.Delivery)
}

func (o serviceOperations) listWebhooks(ctx context.Context, _ ServiceRequest, _ Emit) ([]service.Hook, error) {
	s, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	return s.Hooks(ctx)
}

func (o serviceOperations) finish(ctx context.Context, _ ServiceRequest, _ Emit) (*Finished, error) {
	s, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	id, ok, err := s.Finish(ctx)
	return &Finished{id, ok}, err
}

func (o serviceOperations) limits(ctx context.Context, q ServiceRequest, _ Emit) (*service.Limits, error) {
	s, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	l := s.Limits()
	if q.Limits == nil {
		return &l, nil
	}
	if q.Limits.Elevated != nil {
		l.Elevated = *q.Limits.Elevated
	}
	if q.Limits.Global != nil {
		l.Global = *q.Limits.Global
	}
	if q.Limits.Heavy != nil {
		l.Heavy = *q.Limits.Heavy
	}
	if q.Limits.DownloadLimit != nil {
		l.DownloadLimit = *q.Limits.DownloadLimit
	}
	if q.Limits.Window != nil {
		l.Window = *q.Limits.Window
	}
	if err := s.SetLimits(ctx, l); err != nil {
		return nil, err
	}
	l = s.Limits()
	return &l, nil
}
