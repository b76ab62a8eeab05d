package config

import "time"

// Config is config.toml after defaults, environment and validation. It does not
// change after loading. Settings with the tag reload:"live" take effect when a
// running process loads the configuration again, the others at its next start.
type Config struct {
	// DataDir is the folder of the archive: databases, media, index and socket.
	DataDir  string    `toml:"data_dir" env:"DATA_DIR"`
	Log      Log       `toml:"log" envPrefix:"LOG_"`
	Process  Process   `toml:"process" envPrefix:"PROCESS_"`
	Web      Web       `toml:"web" envPrefix:"WEB_"`
	Receiver Receiver  `toml:"receiver" envPrefix:"RECEIVER_"`
	Service  Service   `toml:"service" envPrefix:"SERVICE_"`
	Accounts []Account `toml:"accounts" env:"-" reload:"live"` // with variables by their names
	Sync     Sync      `toml:"sync" envPrefix:"SYNC_" reload:"live"`
	Media    Media     `toml:"media" envPrefix:"MEDIA_"`
	Archive  Archive   `toml:"archive" envPrefix:"ARCHIVE_" reload:"live"`
	Audit    Audit     `toml:"audit" envPrefix:"AUDIT_" reload:"live"`
	Import   Import    `toml:"import" envPrefix:"IMPORT_" reload:"live"`
	Backup   Backup    `toml:"backup" envPrefix:"BACKUP_" reload:"live"`
	Notify   Notify    `toml:"notify" envPrefix:"NOTIFY_" reload:"live"`
	Verify   Verify    `toml:"verify" envPrefix:"VERIFY_" reload:"live"`
	// Retention has rules that delete; without any, everything is kept for good.
	Retention Retention `toml:"retention" reload:"live"`

	inFile int `toml:"-"` // how many of Accounts, the first ones, the file has
}

// FileAccounts returns the accounts that the file has: neither those that were added on the
// page nor those that only the environment has.
func (c *Config) FileAccounts() []Account { return c.Accounts[:c.inFile] }

// Log sets the level and the format of the log on standard error.
type Log struct {
	Level  string `toml:"level" env:"LEVEL" reload:"live"` // trace, debug, info, warn, error
	Format string `toml:"format" env:"FORMAT"`             // auto, text or json
}

// The formats of the log.
const (
	LogAuto = "auto" // text on a terminal, JSON elsewhere
	LogText = "text"
	LogJSON = "json"
)

// Process limits the processor and memory use of the daemon. The Go runtime's own
// GOMAXPROCS and GOMEMLIMIT, where set, take precedence.
type Process struct {
	Threads int `toml:"threads" env:"THREADS"` // computing at a time; 0: three for each processor
	// MemoryLimit is the memory that the Go runtime aims to use at most, in bytes,
	// at the cost of processor time. SQLite's caches and the index's mapped files
	// are not part of it. 0: no limit.
	MemoryLimit int64 `toml:"memory_limit_bytes" env:"MEMORY_LIMIT_BYTES"`
}

// Receiver is the only listener that faces the internet.
type Receiver struct {
	Listen string `toml:"listen" env:"LISTEN"` // empty: no receiver
	// PublicURL is the HTTPS address under which the service reaches Listen;
	// empty: no webhooks are registered and downloads are polled.
	PublicURL      string   `toml:"public_url" env:"PUBLIC_URL"`
	MaxBody        int64    `toml:"max_body_bytes" env:"MAX_BODY_BYTES"`
	TrustedProxies []string `toml:"trusted_proxies" env:"TRUSTED_PROXIES"` // CIDRs
	TLSCert        string   `toml:"tls_cert" env:"TLS_CERT"`               // file, read again when it changes
	TLSKey         string   `toml:"tls_key" env:"TLS_KEY"`
	// KeepBodies is how long a delivery's body is kept after it was applied; 0: for good.
	KeepBodies Duration `toml:"keep_bodies" env:"KEEP_BODIES"`
}

// Service serves the service's own interface from the archive, under
// /external/v1 on the page's listener.
type Service struct {
	Enabled bool `toml:"enabled" env:"ENABLED"`
	// PublicURL is the address at which programs reach it; empty means the listener's own.
	PublicURL    string `toml:"public_url" env:"PUBLIC_URL"`
	AllowPrivate bool   `toml:"allow_private" env:"ALLOW_PRIVATE"` // webhooks and callbacks may go to private addresses
	Imported     bool   `toml:"imported" env:"IMPORTED"`           // serve imported meetings of other programs too
}

// Account is one person's access to the service.
type Account struct {
	Name    string `toml:"name" env:"-"`
	BaseURL string `toml:"base_url" env:"BASE_URL"` // includes /external/v1
	// Email is the address of the account's owner. With the service enabled over
	// the archive, the owner sees the meetings that the account sees.
	Email          string   `toml:"email" env:"EMAIL"`
	APIKey         string   `toml:"api_key" env:"API_KEY" secret:"true"`
	APIKeyFile     string   `toml:"api_key_file" env:"API_KEY_FILE"`
	WebhookSecrets []string `toml:"webhook_secrets" env:"WEBHOOK_SECRETS" secret:"true"`
	RecordedBy     []string `toml:"recorded_by" env:"RECORDED_BY"` // outside recorders, listed by queries of their own
	Teams          []string `toml:"teams" env:"TEAMS"`             // teams, listed by queries of their own
	OAuth          *OAuth   `toml:"oauth" envPrefix:"OAUTH_"`
	// AllowPrivate lets recordings be fetched from addresses that are not
	// globally routable: for a service in one's own network.
	AllowPrivate bool `toml:"allow_private" env:"ALLOW_PRIVATE"`
}

// OAuth is an account that connects through an OAuth app (section 5.5).
type OAuth struct {
	ClientID         string `toml:"client_id" env:"CLIENT_ID"`
	ClientSecret     string `toml:"client_secret" env:"CLIENT_SECRET" secret:"true"`
	ClientSecretFile string `toml:"client_secret_file" env:"CLIENT_SECRET_FILE"`
	RedirectURL      string `toml:"redirect_url" env:"REDIRECT_URL"`   // HTTPS
	AuthorizeURL     string `toml:"authorize_url" env:"AUTHORIZE_URL"` // default: base_url + /oauth2/authorize
	TokenURL         string `toml:"token_url" env:"TOKEN_URL"`         // default: base_url + /oauth2/token
}

// Sync holds a cron expression for each job; an empty one means never.
type Sync struct {
	TimeZone  string `toml:"time_zone" env:"TIME_ZONE"` // IANA name, UTC by default
	CatchUp   string `toml:"catch_up" env:"CATCH_UP"`   // new meetings since the last look
	Backfill  string `toml:"backfill" env:"BACKFILL"`   // the full history, where it is not complete
	Walk      string `toml:"walk" env:"WALK"`           // everything, without content: edits, shares, removals upstream
	Refresh   string `toml:"refresh" env:"REFRESH"`     // content again: the last days, then older in rotation
	Directory string `toml:"directory" env:"DIRECTORY"` // types, teams, members, users
}

// Archive sets the encryption of copies of the archive.
type Archive struct {
	// AgeRecipients are the public keys for which backups and exports are
	// encrypted, such as age1…, as age-keygen prints them.
	AgeRecipients []string `toml:"age_recipients" env:"AGE_RECIPIENTS"`
}

// Retention limits how long recordings are kept.
type Retention struct {
	// Rules are tried in order; the first that matches a meeting decides.
	Rules []RetentionRule `toml:"rules" env:"-"`
}

// RetentionRule applies to the recordings of all meetings, or of the meetings of
// some types and teams.
type RetentionRule struct {
	// MediaAfterDays is the age at which recordings are deleted; 0: never.
	MediaAfterDays int      `toml:"media_after_days"`
	MeetingTypes   []string `toml:"meeting_types"` // empty: any
	Teams          []string `toml:"teams"`         // the recorder's; empty: any
}

// Media sets where recordings are kept.
type Media struct {
	// URL is file: (the data directory), file:///path or s3://bucket/prefix.
	URL      string `toml:"url" env:"URL"`
	Download bool   `toml:"download" env:"DOWNLOAD"` // false: no recordings are fetched
	// MinFree is the space that stays free on the disk, in bytes. No download
	// starts below it.
	MinFree int64 `toml:"min_free_bytes" env:"MIN_FREE_BYTES"`
}

// Duration is a time.Duration written as "90m" or "36h".
type Duration time.Duration

// UnmarshalText reads a Go duration; anything else is an error.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// Default is the configuration of an empty file.
func Default() Config {
	return Config{
		Log:      Log{Level: "info", Format: LogAuto},
		Web:      Web{Listen: "127.0.0.1:8377", Access: AccessOwner, Passwords: true, OIDC: OIDC{Join: JoinInvited}},
		Receiver: Receiver{MaxBody: 32 << 20, KeepBodies: Duration(30 * 24 * time.Hour)},
		Sync: Sync{
			TimeZone:  "UTC",
			CatchUp:   "*/5 * * * *",
			Backfill:  "0 1 * * *",
			Walk:      "0 2 * * *",
			Refresh:   "0 3 * * *",
			Directory: "30 0 * * *",
		},
		Media:   Media{URL: "file:", Download: true, MinFree: 1 << 30},
		Archive: Archive{AgeRecipients: []string{}},
		Import:  Import{VisibleTo: []string{}},
		Backup:  Backup{Keep: 7, Prove: "monthly"},
		Notify:  Notify{DigestAt: "07:00", DigestTo: []string{}, Mail: Mail{Port: 587, TLS: "starttls"}},
		Verify:  Verify{Schedule: "30 4 * * *", Days: 30},
		Audit:   Audit{Keep: Duration(365 * 24 * time.Hour)},

		Retention: Retention{Rules: []RetentionRule{}},
	}
}
