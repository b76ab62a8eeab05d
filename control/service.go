package control

import (
	"context"

	"minutebook/api"
	"minutebook/service"
)

// ServiceOperations are the operations that administer a running service.
func ServiceOperations(s *service.Service) *Registry {
	r := NewRegistry()
	RegisterService(r, func(context.Context) (*service.Service, error) { return s, nil })
	return r
}

// RegisterService adds the operations that administer a service, which open
// gives when one is asked for.
func RegisterService(r *Registry, open func(context.Context) (*service.Service, error)) {
	o := serviceOperations{open}
	Register(r, "service.keys.create", o.createKey)
	Register(r, "service.keys.list", o.listKeys)
	Register(r, "service.keys.revoke", o.revokeKey)
	Register(r, "service.users.create", o.createUser)
	Register(r, "service.users.status", o.userStatus)
	Register(r, "service.users.list", o.listUsers)
	Register(r, "service.apps.create", o.createApp)
	Register(r, "service.apps.list", o.listApps)
	Register(r, "service.apps.delete", o.deleteApp)
	Register(r, "service.apps.authorize", o.authorizeApp)
	Register(r, "service.deliveries.list", o.listDeliveries)
	Register(r, "service.deliveries.retry", o.retryDelivery)
	Register(r, "service.webhooks.list", o.listWebhooks)
	Register(r, "service.finish", o.finish)
	Register(r, "service.limits", o.limits)
}

// serviceOperations are methods on a service that is opened when needed.
type serviceOperations struct {
	open func(context.Context) (*service.Service, error)
}

// ServiceRequest names what an operation of the service is about; each uses
// the fields that it needs.
type ServiceRequest struct {
	ID          string          `json:"id,omitempty"`
	Delivery    int64           `json:"delivery,omitempty"`
	Email       string          `json:"email,omitempty"`
	Status      string          `json:"status,omitempty"`
	User        service.NewUser `json:"user,omitzero"`
	Name        string          `json:"name,omitempty"`
	Redirects   []string        `json:"redirects,omitempty"`
	Development bool            `json:"development,omitempty"`
	State       string          `json:"state,omitempty"`
	Limit       int             `json:"limit,omitempty"`
	Limits      *LimitsChange   `json:"limits,omitempty"`
}

// LimitsChange are the limits to set; what is nil stays.
type LimitsChange struct {
	Global        *int            `json:"global,omitempty"`
	Heavy         *int            `json:"heavy,omitempty"`
	Elevated      *bool           `json:"elevated,omitempty"`
	DownloadLimit *int            `json:"download_limit,omitempty"`
	Window        *service.Window `json:"window,omitempty"`
}

// NewKey is an API key, shown once.
type NewKey struct {
	APIKey string `json:"api_key"`
}

// NewApp is an app's credentials, the secret shown once.
type NewApp struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
}

// AppCode is an authorization code, good for one exchange.
type AppCode struct {
	Code string `json:"code"`
}

// Finished is the meeting that was finished; without one, none was held back.
type Finished struct {
	RecordingID int64 `json:"recording_id,omitempty"`
	Finished    bool  `json:"finished"`
}

// Done is the result of what has nothing to tell.
type Done struct {
	Done bool `json:"done"`
}

func (o serviceOperations) createKey(ctx context.Context, q ServiceRequest, _ Emit) (*NewKey, error) {
	s, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	key, err := s.CreateKey(ctx, q.Email)
	return &NewKey{key}, err
}

func (o serviceOperations) listKeys(ctx context.Context, q ServiceRequest, _ Emit) ([]service.Key, error) {
	s, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	return s.Keys(ctx, q.Email)
}

func (o serviceOperations) revokeKey(ctx context.Context, q ServiceRequest, _ Emit) (*Done, error) {
	s, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	return &Done{true}, s.RevokeKey(ctx, q.ID)
}

func (o serviceOperations) createUser(ctx context.Context, q ServiceRequest, _ Emit) (*api.User, error) {
	s, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	u, err := s.CreateUser(ctx, q.User)
	return &u, err
}

func (o serviceOperations) userStatus(ctx context.Context, q ServiceRequest, _ Emit) (*Done, error) {
	s, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	return &Done{true}, s.SetUserStatus(ctx, q.Email, q.Status)
}

func (o serviceOperations) listUsers(ctx context.Context, _ ServiceRequest, _ Emit) ([]api.User, error) {
	s, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	return s.Users(ctx)
}

func (o serviceOperations) createApp(ctx context.Context, q ServiceRequest, _ Emit) (*NewApp, error) {
	s, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	app, secret, err := s.CreateApp(ctx, q.Name, q.Redirects, q.Development)
	return &NewApp{app.ClientID, secret}, err
}

func (o serviceOperations) listApps(ctx context.Context, _ ServiceRequest, _ Emit) ([]service.App, error) {
	s, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	return s.Apps(ctx)
}

func (o serviceOperations) deleteApp(ctx context.Context, q ServiceRequest, _ Emit) (*Done, error) {
	s, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	return &Done{true}, s.DeleteApp(ctx, q.ID)
}

func (o serviceOperations) authorizeApp(ctx context.Context, q ServiceRequest, _ Emit) (*AppCode, error) {
	s, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	redirect := ""
	if len(q.Redirects) > 0 {
		redirect = q.Redirects[0]
	}
	code, err := s.AuthorizeApp(ctx, q.ID, q.Email, redirect)
	return &AppCode{code}, err
}
