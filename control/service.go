package control

import (
	"context"

	"minutebook/api"
	"minutebook/service"
)

// ServiceOperations returns the operations that administer a running service.
func ServiceOperations(s *service.Service) *Registry {
	r := NewRegistry()
	registerService(r, func(context.Context) (*service.Service, error) { return s, nil })
	return r
}

// registerService adds the operations that administer a service. open returns the
// service when an operation needs it.
func registerService(r *Registry, open func(context.Context) (*service.Service, error)) {
	registerOn(r, open, "service.keys.create", createKey)
	registerOn(r, open, "service.keys.list", listKeys)
	registerOn(r, open, "service.keys.revoke", revokeKey)
	registerOn(r, open, "service.users.create", createUser)
	registerOn(r, open, "service.users.status", setUserStatus)
	registerOn(r, open, "service.users.list", listUsers)
	registerOn(r, open, "service.apps.create", createApp)
	registerOn(r, open, "service.apps.list", listApps)
	registerOn(r, open, "service.apps.delete", deleteApp)
	registerOn(r, open, "service.apps.authorize", authorizeApp)
	registerOn(r, open, "service.deliveries.list", listDeliveries)
	registerOn(r, open, "service.deliveries.retry", retryDelivery)
	registerOn(r, open, "service.webhooks.list", listWebhooks)
	registerOn(r, open, "service.webhooks.enable", enableWebhook)
	registerOn(r, open, "service.webhooks.delete", deleteWebhook)
	registerOn(r, open, "service.finish", finishMeeting)
	registerOn(r, open, "service.limits", changeLimits)
}

// registerOn adds an operation that runs on the service that open returns.
func registerOn[R any](r *Registry, open func(context.Context) (*service.Service, error), name string,
	run func(context.Context, *service.Service, ServiceRequest) (R, error)) {
	Register(r, name, func(ctx context.Context, q ServiceRequest, _ Emit) (result R, err error) {
		s, err := open(ctx)
		if err != nil {
			return result, err
		}
		return run(ctx, s, q)
	})
}

// ServiceRequest has the arguments of the operations on a service. Each operation
// uses the fields that it needs.
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

// LimitsChange has the limits to set. A nil field leaves its limit as it is.
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

// Finished names the finished meeting. It has none when no meeting was held back.
type Finished struct {
	RecordingID int64 `json:"recording_id,omitempty"`
	Finished    bool  `json:"finished"`
}

// Done is the result of an operation without a result of its own.
type Done struct {
	Done bool `json:"done"`
}

func createKey(ctx context.Context, s *service.Service, q ServiceRequest) (*NewKey, error) {
	key, err := s.CreateKey(ctx, q.Email)
	return &NewKey{key}, err
}

func listKeys(ctx context.Context, s *service.Service, q ServiceRequest) ([]service.Key, error) {
	return s.Keys(ctx, q.Email)
}

func revokeKey(ctx context.Context, s *service.Service, q ServiceRequest) (*Done, error) {
	return &Done{true}, s.RevokeKey(ctx, q.ID)
}

func createUser(ctx context.Context, s *service.Service, q ServiceRequest) (*api.User, error) {
	u, err := s.CreateUser(ctx, q.User)
	return &u, err
}

func setUserStatus(ctx context.Context, s *service.Service, q ServiceRequest) (*Done, error) {
	return &Done{true}, s.SetUserStatus(ctx, q.Email, q.Status)
}

func listUsers(ctx context.Context, s *service.Service, _ ServiceRequest) ([]api.User, error) {
	return s.Users(ctx)
}

func createApp(ctx context.Context, s *service.Service, q ServiceRequest) (*NewApp, error) {
	app, secret, err := s.CreateApp(ctx, q.Name, q.Redirects, q.Development)
	return &NewApp{app.ClientID, secret}, err
}

func listApps(ctx context.Context, s *service.Service, _ ServiceRequest) ([]service.App, error) {
	return s.Apps(ctx)
}

func deleteApp(ctx context.Context, s *service.Service, q ServiceRequest) (*Done, error) {
	return &Done{true}, s.DeleteApp(ctx, q.ID)
}

func authorizeApp(ctx context.Context, s *service.Service, q ServiceRequest) (*AppCode, error) {
	redirect := ""
	if len(q.Redirects) > 0 {
		redirect = q.Redirects[0]
	}
	code, err := s.AuthorizeApp(ctx, q.ID, q.Email, redirect)
	return &AppCode{code}, err
}
