package config

import (
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"minutebook/internal/bucket"
)

// accountName matches the names that stand in /webhooks/{account} without
// escaping.
var accountName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// logLevels are the words of log.level. The library takes others too, such as "disabled",
// with which no warning would ever be seen.
var logLevels = []string{"trace", "debug", "info", "warn", "error"}

// IsAccountName reports whether an account can have a name.
func IsAccountName(name string) bool { return accountName.MatchString(name) }

// Check reports all faults of a configuration that was not loaded from a file. It reads
// no files.
func (c *Config) Check() error {
	return findFaults(func(bad complain) {
		c.refuseHomes(bad)
		c.validate(bad)
	})
}

// findFaults returns all faults at once, so that a person can correct the file in one go.
func findFaults(find func(bad complain)) error {
	var errs []error
	find(func(setting, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", setting, fmt.Sprintf(format, args...)))
	})
	return errors.Join(errs...)
}

func (c *Config) validate(bad complain) {
	if c.DataDir == "" {
		bad("data_dir", "is missing: name the folder that holds the archive")
	}
	if !slices.Contains(logLevels, c.Log.Level) {
		bad("log.level", "%q is none of %s", c.Log.Level, strings.Join(logLevels, ", "))
	}
	if f := c.Log.Format; f != LogAuto && f != LogText && f != LogJSON {
		bad("log.format", "%q is none of auto, text, json", f)
	}
	if c.Process.Threads < 0 {
		bad("process.threads", "%d is negative", c.Process.Threads)
	}
	if m := c.Process.MemoryLimit; m < 0 || m > 0 && m < 64<<20 {
		bad("process.memory_limit_bytes", "%d is too little to work with; 0 means no limit, the least is 67108864", m)
	}
	c.validateListeners(bad)
	c.validateWeb(bad)
	if k := time.Duration(c.Audit.Keep); k < 0 || k > 0 && k < 24*time.Hour {
		bad("audit.keep", "%v is shorter than a day; write a duration such as \"8760h\", or \"0s\" to keep all", k)
	}
	c.validateAccounts(bad)
	c.validateOwnAccounts(bad)
	c.validateSchedule(bad)
	c.validateRetention(bad)
	c.validateImport(bad)
	c.validateUpkeep(bad)
	c.validateNotify(bad)
	if c.Media.MinFree < 0 {
		bad("media.min_free_bytes", "%d is less than 0", c.Media.MinFree)
	}
	if at := c.Media.URL; bucket.IsAddress(at) {
		if err := bucket.Check(at); err != nil {
			bad("media.url", "%v", err)
		}
	} else if !isMediaDir(at) {
		bad("media.url", "is none of file:, file:///path and s3://bucket/prefix") // the address may have credentials
	}
}

// hasMore reports whether an address has a user, a query or a fragment, also an empty one: a path is
// put behind it.
func hasMore(address string, u *url.URL) bool {
	return u.User != nil || strings.ContainsAny(address, "?#")
}

// isMediaDir reports whether media.url names a directory.
func isMediaDir(address string) bool {
	path, isFile := strings.CutPrefix(address, "file:")
	u, err := url.Parse(address)
	return address == "" || isFile && (path == "" || err == nil && u.Host == "" && filepath.IsAbs(u.Path))
}

func (c *Config) validateListeners(bad func(string, string, ...any)) {
	r := c.Receiver
	if r.Listen != "" {
		if _, port, err := SplitListen(r.Listen); err != nil {
			bad("receiver.listen", "%v", err)
		} else if port != "0" && r.Listen == c.Web.Listen {
			bad("receiver.listen", "%s is the address of the page; choose another port", r.Listen)
		}
	}
	if r.PublicURL != "" {
		u, err := url.Parse(r.PublicURL)
		if err != nil || u.Hostname() == "" || u.Scheme != "https" && !(u.Scheme == "http" && isLoopbackName(u.Hostname())) {
			bad("receiver.public_url", "is no https address, which deliveries need; write one such as https://hooks.example.org")
		} else if hasMore(r.PublicURL, u) {
			bad("receiver.public_url", "has a user, a query or a fragment; write only scheme, host and path")
		}
		if r.Listen == "" {
			bad("receiver.listen", "is missing, but receiver.public_url is set")
		}
	}
	if at := c.Service.PublicURL; at != "" {
		if u, err := url.Parse(at); err != nil || !isHTTP(at) || hasMore(at, u) {
			bad("service.public_url", "is no http or https address of scheme, host and path; write one such as https://minutes.example")
		}
	}
	if (r.TLSCert == "") != (r.TLSKey == "") {
		bad("receiver.tls_cert", "and receiver.tls_key go together")
	}
	if k := time.Duration(r.KeepBodies); k < 0 || k > 0 && k < time.Minute {
		bad("receiver.keep_bodies", "%v is too short to repair anything with; write a duration such as \"720h\", or \"0s\" to keep all", k)
	}
	if r.MaxBody < 1<<10 {
		bad("receiver.max_body_bytes", "%d is less than 1024", r.MaxBody)
	}
	for _, p := range r.TrustedProxies {
		if _, err := netip.ParsePrefix(p); err != nil {
			bad("receiver.trusted_proxies", "%q is no address range such as 127.0.0.1/32", p)
		}
	}
}

func (c *Config) validateAccounts(bad func(string, string, ...any)) {
	seen := map[string]bool{}
	for i, a := range c.Accounts {
		at := fmt.Sprintf("accounts[%d]", i)
		switch {
		case a.Name == "":
			bad(at+".name", "is missing")
		case !accountName.MatchString(a.Name):
			bad(at+".name", "%q: use small letters, digits, - and _", a.Name)
		case a.Name == "local", ownAccountName.MatchString(a.Name):
			bad(at+".name", "%q is the program's own; choose another name", a.Name)
		case seen[a.Name]:
			bad(at+".name", "%q stands twice", a.Name)
		}
		seen[a.Name] = true
		u, err := url.Parse(a.BaseURL)
		if err != nil || !isHTTP(a.BaseURL) {
			bad(at+".base_url", "is no http or https address; it includes /external/v1")
		} else if hasMore(a.BaseURL, u) {
			bad(at+".base_url", "has a user, a query or a fragment; write it without")
		}
		if p, err := mail.ParseAddress(a.Email); a.Email != "" && (err != nil || p.Address != a.Email) {
			bad(at+".email", "%q is no address such as ada@example.org", a.Email)
		}
		if a.BaseURL != c.Accounts[0].BaseURL {
			bad(at+".base_url", "differs from the first account's: one archive holds one service")
		}
		c.validateCredential(at, a, bad)
	}
}

func (c *Config) validateCredential(at string, a Account, bad func(string, string, ...any)) {
	if a.OAuth == nil {
		if a.APIKey == "" {
			bad(at+".api_key", "is missing (account %q): set api_key, api_key_file or %sACCOUNT_%s_API_KEY",
				a.Name, envPrefix, envName(a.Name))
		} else if strings.ContainsFunc(a.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
			bad(at+".api_key", "holds characters that no key has, such as a line break (account %q)", a.Name)
		}
		return
	}
	if a.APIKey != "" {
		bad(at+".api_key", "and %s.oauth are both set; keep one", at)
	}
	if a.OAuth.ClientID == "" {
		bad(at+".oauth.client_id", "is missing")
	}
	if a.OAuth.ClientSecret == "" {
		bad(at+".oauth.client_secret", "is missing: set it, client_secret_file or %sACCOUNT_%s_OAUTH_CLIENT_SECRET",
			envPrefix, envName(a.Name))
	}
	if u, err := url.Parse(a.OAuth.RedirectURL); err != nil || u.Scheme != "https" {
		bad(at+".oauth.redirect_url", "is no https address")
	}
}

func (c *Config) validateSchedule(bad func(string, string, ...any)) {
	if _, err := time.LoadLocation(c.Sync.TimeZone); err != nil {
		bad("sync.time_zone", "%q is no time zone such as Europe/Berlin", c.Sync.TimeZone)
	}
	for name, expr := range map[string]string{
		"catch_up": c.Sync.CatchUp, "backfill": c.Sync.Backfill, "walk": c.Sync.Walk,
		"refresh": c.Sync.Refresh, "directory": c.Sync.Directory,
	} {
		if err := checkCron(expr); err != nil {
			bad("sync."+name, "%v", err)
		}
	}
}

// maxRetentionDays limits a rule's age, which is kept in nanoseconds.
const maxRetentionDays = 36500

func (c *Config) validateRetention(bad func(string, string, ...any)) {
	for i, r := range c.Retention.Rules {
		setting := fmt.Sprintf("retention.rules[%d]", i)
		if r.MediaAfterDays < 0 || r.MediaAfterDays > maxRetentionDays {
			bad(setting+".media_after_days", "%d is not between 0 (never) and %d", r.MediaAfterDays, maxRetentionDays)
		}
		if len(r.MeetingTypes)+len(r.Teams) == 0 && i+1 < len(c.Retention.Rules) {
			bad(setting, "fits every meeting, so the rules after it never count; put it last")
		}
		for _, name := range append(append([]string{}, r.MeetingTypes...), r.Teams...) {
			if name == "" {
				bad(setting, "names an empty meeting type or team")
			}
		}
	}
}
