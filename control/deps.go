package control

import (
	"context"
	"net/netip"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/export"
	"minutebook/archive/notes"
	"minutebook/config"
	"minutebook/internal/notify"
	"minutebook/receiver"
	"minutebook/search"
	"minutebook/service"
	syncer "minutebook/sync"
	"minutebook/web/access"
	"minutebook/web/accounts"
)

// Deps are the things on which the operations work. The archive is always open. The
// functions open the rest when an operation needs it, so that `show` does not open
// an index.
type Deps struct {
	Archive *archive.Archive
	// Index returns the search index. Without a daemon it first catches up with the
	// archive's head.
	Index func(context.Context) (*search.Index, error)
	// IndexState is Index for a look at the state, which makes no missing index whole; nil: Index.
	IndexState func(context.Context) (*search.Index, error)
	// Syncer returns the connection to the service for the configured accounts.
	Syncer func(context.Context) (*syncer.Syncer, error)
	// Connection returns an account's OAuth connection.
	Connection func(ctx context.Context, account string) (*api.OAuth, error)
	// OAuthAccounts returns the names of the accounts that have one.
	OAuthAccounts func() []string
	// Access returns the people who may enter, and the audit.
	Access func(context.Context) (*access.DB, error)
	// Notes returns the database of notes, ticks, merges and saved searches; nil: nothing can be added here.
	Notes func(context.Context) (*notes.DB, error)
	// Connector returns the connector of people's own accounts; nil: nobody can have one.
	Connector func(context.Context) (*accounts.Connector, error)
	// Web says who may enter the page, and under which address people reach it.
	Web config.Web
	// Service returns the archive's own service, for administering it.
	Service func(context.Context) (*service.Service, error)
	// ServiceState returns the state of the service that runs here; nil: none runs.
	ServiceState func(context.Context) (*service.State, error)
	// Site returns the renderer of the pages of an HTML export.
	Site func() (export.Site, error)
	// Recipients are the public keys for which exports and backups are encrypted,
	// unless a request names others.
	Recipients []string
	// Import says who recorded and who sees meetings of other programs that do not say so.
	Import config.Import
	// ImportMinFree are the bytes that stay free on this disk when recordings are imported.
	ImportMinFree int64
	// Retention are the rules by which recordings are deleted.
	Retention []archive.RetentionRule
	// Proof is how backups are proven.
	Proof Proof
	// Upkeep are the next times of the daemon's upkeep by job; nil: no daemon.
	Upkeep func() map[string]time.Time
	// Channels are the states of the daemon's channels to people; nil: no daemon.
	Channels func() []notify.ChannelState
	// Activities are the long operations that run in this process.
	Activities *Activities
	// Configuration identifies the configuration file of this process.
	Configuration Configuration
	// FirstConfiguration is the file that a reload loads once it is there, where the process
	// was started without one; "": none.
	FirstConfiguration string
	// Reload loads the configuration again, while a daemon runs here; nil: none does.
	// NeedsRestart are the settings that its last reload could not change.
	Reload       func(context.Context) (Reloaded, error)
	NeedsRestart []string
	// Received counts the requests of the receiver that runs here by outcome; nil:
	// none runs.
	Received func() receiver.Counts
	// Forwarders are who sends X-Forwarded-For to the listeners of this process, by the tables
	// of their settings; nil: none listens.
	Forwarders func() map[string][]netip.Addr
	// Running reports whether this process is a daemon, for status.
	Running  bool
	Version  string
	Webhooks Webhooks
	// PageURL is the address of the running page, "" when none runs, for assistants.
	// Location is the zone of dates in queries and imports (nil: UTC).
	PageURL  string
	Location *time.Location
	Logger   zerolog.Logger
}

// Operations registers all operations on an archive.
func Operations(h Deps) *Registry {
	r := NewRegistry()
	h.registerCopies(r)
	Register(r, "search", h.search)
	Register(r, "page", h.page)
	Register(r, "show", h.show)
	Register(r, "status", h.status)
	Register(r, "sync", h.sync)
	registerLong(r, h.Activities, "verify", h.verify)
	registerLong(r, h.Activities, "rebuild", h.rebuild)
	registerLong(r, h.Activities, "prove", h.prove)
	Register(r, "forget", h.forget)
	Register(r, "retention", h.retention)
	Register(r, "configuration", h.configuration)
	Register(r, "reload", h.reload)
	Register(r, "doctor", h.examine)
	Register(r, "history", h.history)
	Register(r, "stats", h.stats)
	Register(r, "assistant", h.answerAssistant)
	Register(r, "auth.begin", h.authBegin)
	Register(r, "auth.finish", h.authFinish)
	Register(r, "auth.status", h.authStatus)
	Register(r, "auth.list", h.authList)
	if h.Service != nil {
		registerService(r, h.Service)
	}
	RegisterWebhooks(r, h.Webhooks)
	h.registerPeople(r)
	return r
}
