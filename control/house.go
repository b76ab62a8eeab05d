package control

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/export"
	"minutebook/receiver"
	"minutebook/search"
	"minutebook/service"
	syncer "minutebook/sync"
)

// House is what the operations work on. The archive is always there; the rest
// is asked for when an operation needs it, so that `show` does not open an
// index.
type House struct {
	Archive *archive.Archive
	// Index gives the search index, followed up to the archive's head when no
	// daemon keeps it there.
	Index func(context.Context) (*search.Index, error)
	// Syncer gives the connection to the service, for the configured accounts.
	Syncer func(context.Context) (*syncer.Syncer, error)
	// Connection gives an account's OAuth connection.
	Connection func(ctx context.Context, account string) (*api.OAuth, error)
	// OAuthAccounts names the accounts that have one.
	OAuthAccounts func() []string
	// Service gives the archive's own service, for administering it.
	Service func(context.Context) (*service.Service, error)
	// ServiceState tells how the work of the service that runs here goes; nil: none
	// does.
	ServiceState func(context.Context) (*service.State, error)
	// Site gives what renders the pages of an HTML export.
	Site func() (export.Site, error)
	// Recipients, unless a request names others, have exports and backups
	// encrypted for them.
	Recipients []string
	// Retention are the rules by which recordings are deleted.
	Retention []archive.RetentionRule
	// Configuration is the file that this process was started with.
	Configuration Configuration
	// Received tells what became of the requests of the receiver that runs
	// here; nil: none does.
	Received func() receiver.Counts
	// Running tells whether a daemon runs, for status.
	Running  bool
	Version  string
	Webhooks Webhooks
	// PageURL is the address of the page that runs, "" when none does, and
	// Location the zone of dates (nil: UTC): for what assistants are told.
	PageURL  string
	Location *time.Location
	Logger   zerolog.Logger
}

// Operations registers everything that works on an archive.
func Operations(h House) *Registry {
	r := NewRegistry()
	h.registerCopies(r)
	Register(r, "search", h.search)
	Register(r, "show", h.show)
	Register(r, "status", h.status)
	Register(r, "sync", h.sync)
	Register(r, "verify", h.verify)
	Register(r, "rebuild", h.rebuild)
	Register(r, "forget", h.forget)
	Register(r, "retention", h.retention)
	Register(r, "configuration", h.configuration)
	Register(r, "history", h.history)
	Register(r, "stats", h.stats)
	Register(r, "assistant", h.assistant)
	Register(r, "auth.begin", h.authBegin)
	Register(r, "auth.finish", h.authFinish)
	Register(r, "auth.status", h.authStatus)
	Register(r, "auth.list", h.authList)
	if h.Service != nil {
		RegisterService(r, h.Service)
	}
	RegisterWebhooks(r, h.Webhooks)
	return r
}
