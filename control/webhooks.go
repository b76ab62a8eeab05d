package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/inbox"
	"minutebook/internal/nearest"
	"minutebook/receiver"
	"minutebook/search"
)

// Webhooks are the things on which the operations on webhooks work.
type Webhooks struct {
	Archive *archive.Archive
	// Client returns an account's connection to the service. Its error names the
	// missing setting.
	Client func(ctx context.Context, account string) (*api.Client, error)
	// Configured returns an account's secrets from the configuration.
	Configured func(account string) []string
	Accounts   []string // all configured ones
	PublicURL  string   // where the service reaches the receiver; "": not configured
	// Refresh makes the running receiver read the secrets again; nil: none runs.
	Refresh func(context.Context) error
	// Index returns the index, for following a delivery to it.
	Index func(context.Context) (*search.Index, error)
	// HTTP sends test deliveries; nil: http.DefaultClient.
	HTTP *http.Client
	Now  func() time.Time
}

// RegisterWebhooks adds the operations on webhooks.
func RegisterWebhooks(r *Registry, w Webhooks) {
	Register(r, "webhook.create", w.create)
	Register(r, "webhook.list", w.list)
	Register(r, "webhook.delete", w.delete)
	Register(r, "webhook.rotate", w.rotate)
	Register(r, "webhook.test", w.test)
	Register(r, "webhook.deliveries", w.deliveries)
	Register(r, "webhook.replay", w.replay)
}

// WebhookRequest has the arguments of the operations on webhooks. Each operation
// uses the fields that it needs.
type WebhookRequest struct {
	Account  string   `json:"account,omitempty"`
	ID       string   `json:"id,omitempty"`
	Triggers []string `json:"triggers,omitempty"` // none: all of them
	Include  []string `json:"include,omitempty"`  // none: everything
}

// WebhookInfo is a webhook without its secret.
type WebhookInfo struct {
	Account   string              `json:"account"`
	ID        string              `json:"id"`
	URL       string              `json:"url"`
	State     string              `json:"state"`
	CreatedAt time.Time           `json:"created_at"`
	Asked     *api.WebhookRequest `json:"asked,omitempty"`
	Advice    string              `json:"advice,omitempty"` // the remedy, for a person
}

// orphanPrefix begins the name of a webhook whose id is lost.
const orphanPrefix = "intent-"

func webhookInfo(g inbox.Registration) WebhookInfo {
	i := WebhookInfo{Account: g.Account, ID: g.ID, URL: g.URL, State: g.State, CreatedAt: g.CreatedAt}
	var asked api.WebhookRequest
	if json.Unmarshal([]byte(g.Request), &asked) == nil && len(asked.TriggeredFor) > 0 {
		i.Asked = &asked
	}
	switch g.State {
	case inbox.RegistrationIntent:
		i.ID = fmt.Sprint(orphanPrefix, g.Intent)
		i.Advice = fmt.Sprintf("its creation broke off: the service may have a webhook to %s, made at %s or within a minute, whose id and secret are lost. "+
			"Look for it in the service's own settings and delete it there, then: minutebook webhook delete %s", g.URL, g.CreatedAt.Format(time.RFC3339), i.ID)
	case inbox.RegistrationDeleting:
		i.Advice = "its deletion broke off; repeat it: minutebook webhook delete " + g.ID
	}
	return i
}

// checkAccount fails for an account that is not configured.
func (w Webhooks) checkAccount(name string) error {
	if slices.Contains(w.Accounts, name) {
		return nil
	}
	return &nearest.UnknownError{Kind: "account", Name: name, Known: w.Accounts}
}

// checkChosen is checkAccount for an account of which nothing was found; "" is all of them.
// An account that is configured no more may have left something.
func (w Webhooks) checkChosen(name string) error {
	if name == "" {
		return nil
	}
	return w.checkAccount(name)
}

func (w Webhooks) list(ctx context.Context, q WebhookRequest, _ Emit) ([]WebhookInfo, error) {
	all, err := w.Archive.Inbox().Registrations(ctx, q.Account)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		if err := w.checkChosen(q.Account); err != nil {
			return nil, fmt.Errorf("list webhooks: %w", err)
		}
	}
	out := []WebhookInfo{}
	for _, g := range all {
		info := webhookInfo(g)
		if w.isLeft(g) {
			info.Advice = fmt.Sprintf("%s, then: minutebook webhook delete %s", leftAdvice(g), g.ID)
		}
		out = append(out, info)
	}
	return out, nil
}

// isLeft reports whether the service has a webhook of an account that is not configured any
// more.
func (w Webhooks) isLeft(g inbox.Registration) bool {
	return g.State != inbox.RegistrationIntent && !slices.Contains(w.Accounts, g.Account)
}

func leftAdvice(g inbox.Registration) string {
	return fmt.Sprintf("account %s is not configured any more, and its deliveries are refused: delete the webhook to %s in the service's own settings", g.Account, g.URL)
}

func (w Webhooks) create(ctx context.Context, q WebhookRequest, _ Emit) (*WebhookInfo, error) {
	request, err := w.newRequest(q)
	if err != nil {
		return nil, err
	}
	g, err := w.register(ctx, q.Account, request)
	if err != nil {
		return nil, err
	}
	info := webhookInfo(*g)
	return &info, nil
}

// newRequest makes the request to the service from a command's flags.
func (w Webhooks) newRequest(q WebhookRequest) (api.WebhookRequest, error) {
	var r api.WebhookRequest
	if err := w.checkAccount(q.Account); err != nil {
		return r, fmt.Errorf("create webhook: %w", err)
	}
	if w.PublicURL == "" {
		return r, errors.New("create webhook: receiver.public_url is not set; the service must know where to deliver to")
	}
	r.DestinationURL = strings.TrimSuffix(w.PublicURL, "/") + "/webhooks/" + q.Account
	r.TriggeredFor = q.Triggers
	if len(q.Triggers) == 0 {
		r.TriggeredFor = Triggers()
	}
	for _, t := range r.TriggeredFor {
		if !slices.Contains(Triggers(), t) {
			return r, fmt.Errorf("create webhook: unknown trigger %q; there are: %s", t, strings.Join(Triggers(), ", "))
		}
	}
	flags := includeFlags(&r)
	include := q.Include
	if len(include) == 0 {
		include = Includes()
	}
	for _, name := range include {
		flag := flags[name]
		if flag == nil {
			return r, fmt.Errorf("create webhook: unknown part %q; there are: %s", name, strings.Join(Includes(), ", "))
		}
		*flag = true
	}
	return r, r.Validate()
}

// Triggers returns the scopes that can trigger a webhook.
func Triggers() []string {
	return []string{api.TriggerMyRecordings, api.TriggerSharedExternal, api.TriggerMySharedWithTeam, api.TriggerSharedTeam}
}

// Includes returns the parts that a webhook's deliveries can have.
func Includes() []string {
	return []string{"transcript", "summary", "action_items", "highlights", "crm_matches"}
}

func includeFlags(r *api.WebhookRequest) map[string]*bool {
	return map[string]*bool{
		"transcript": &r.IncludeTranscript, "summary": &r.IncludeSummary, "action_items": &r.IncludeActionItems,
		"highlights": &r.IncludeHighlights, "crm_matches": &r.IncludeCRMMatches,
	}
}

// registerTime is the longest time that the service may take to make a webhook.
const registerTime = 60 * time.Second

// register makes a webhook at the service. The intent is durable before the call
// to the service, and the answer before anything else. A caller that goes away
// ends neither.
func (w Webhooks) register(ctx context.Context, account string, request api.WebhookRequest) (*inbox.Registration, error) {
	client, err := w.Client(ctx, account)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), registerTime)
	defer cancel()
	asked, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	box := w.Archive.Inbox()
	intent, err := box.PutIntent(ctx, account, request.DestinationURL, string(asked))
	if err != nil {
		return nil, err
	}
	created, err := client.CreateWebhook(api.WithPriority(ctx, api.PriorityPerson), request)
	if err != nil {
		if isRefused(err) {
			return nil, errors.Join(fmt.Errorf("create webhook: %w", err), box.RemoveIntent(ctx, intent))
		}
		return nil, fmt.Errorf("create webhook: %w; the service may have made it nevertheless: see minutebook webhook list", err)
	}
	if err := box.PutRegistration(ctx, intent, created.ID, created.Secret); err != nil {
		return nil, errors.Join(err, w.undoRegister(ctx, client, intent, created.ID))
	}
	g := &inbox.Registration{Intent: intent, Account: account, ID: created.ID, Secret: created.Secret, URL: request.DestinationURL,
		Request: string(asked), CreatedAt: w.Now(), State: inbox.RegistrationActive}
	if err := receiver.CheckSecret(created.Secret); err != nil {
		return nil, fmt.Errorf("use the secret of webhook %s: %w; delete the webhook", created.ID, err)
	}
	return g, w.refresh(ctx)
}

// undoRegister deletes a webhook whose id could not be stored, while the id is
// known.
func (w Webhooks) undoRegister(ctx context.Context, client *api.Client, intent int64, id string) error {
	if err := client.DeleteWebhook(api.WithPriority(ctx, api.PriorityPerson), id); err != nil && !api.IsNotFound(err) {
		return fmt.Errorf("the service has made webhook %s, which could not be kept here; delete it there: %w", id, err)
	}
	if err := w.Archive.Inbox().RemoveIntent(ctx, intent); err != nil {
		return fmt.Errorf("the service has deleted the webhook again: %s%d stands for nothing", orphanPrefix, intent)
	}
	return nil
}

// isRefused reports whether the service certainly made no webhook.
func isRefused(err error) bool {
	var e *api.Error
	return errors.Is(err, api.ErrNotSent) || errors.As(err, &e) && e.Status >= 400 && e.Status < 500
}

func (w Webhooks) refresh(ctx context.Context) error {
	if w.Refresh == nil {
		return nil
	}
	return w.Refresh(ctx)
}

// WebhookDeleted is the answer to webhook.delete.
type WebhookDeleted struct {
	Done
	Advice string `json:"advice,omitempty"` // the remedy, for a person, where the service still has it
}

func (w Webhooks) delete(ctx context.Context, q WebhookRequest, _ Emit) (*WebhookDeleted, error) {
	all, err := w.Archive.Inbox().Registrations(ctx, q.Account)
	if err != nil {
		return nil, err
	}
	var found []inbox.Registration
	for _, g := range all {
		if q.ID == g.ID && g.ID != "" || g.State == inbox.RegistrationIntent && q.ID == fmt.Sprint(orphanPrefix, g.Intent) {
			found = append(found, g)
		}
	}
	switch len(found) {
	case 0:
		if err := w.checkChosen(q.Account); err != nil {
			return nil, fmt.Errorf("delete webhook %s: %w", q.ID, err)
		}
		return nil, fmt.Errorf("delete webhook %s: no such webhook is known here; see minutebook webhook list", q.ID)
	case 1:
		deleted := &WebhookDeleted{Done: Done{true}}
		if w.isLeft(found[0]) {
			deleted.Advice = leftAdvice(found[0])
		}
		return deleted, w.unregister(ctx, found[0])
	}
	return nil, fmt.Errorf("delete webhook %s: several accounts have one of this id; name one with --account", q.ID)
}

// unregister deletes a webhook at the service and then its secret here. It also
// succeeds for a webhook that the service no longer knows. Where the account is not
// configured any more, nobody can delete it at the service from here.
func (w Webhooks) unregister(ctx context.Context, g inbox.Registration) error {
	box := w.Archive.Inbox()
	if g.State == inbox.RegistrationIntent {
		return box.RemoveIntent(ctx, g.Intent)
	}
	if w.isLeft(g) {
		return errors.Join(box.RemoveRegistration(ctx, g.Account, g.ID), w.refresh(ctx))
	}
	client, err := w.Client(ctx, g.Account)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), registerTime)
	defer cancel()
	if err := box.BeginRemove(ctx, g.Account, g.ID); err != nil {
		return err
	}
	if err := client.DeleteWebhook(api.WithPriority(ctx, api.PriorityPerson), g.ID); err != nil && !api.IsNotFound(err) {
		return fmt.Errorf("delete webhook %s: %w; repeat this command", g.ID, err)
	}
	if err := box.RemoveRegistration(ctx, g.Account, g.ID); err != nil {
		return err
	}
	return w.refresh(ctx)
}
