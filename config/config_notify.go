package config

import (
	"encoding/base64"
	"fmt"
	"net/mail"
	"net/url"
	"strings"
	"time"
)

// Notify reports conditions that need a person. Without any channel nobody hears of them.
type Notify struct {
	// Heartbeat is an address that is called after each full success of all accounts,
	// for a watchdog elsewhere.
	Heartbeat    string `toml:"heartbeat" env:"HEARTBEAT" secret:"true"`
	AllowPrivate bool   `toml:"allow_private" env:"ALLOW_PRIVATE"` // addresses may be private
	// Digest is how often new meetings and open action items are reported: daily or
	// weekly (on Mondays), at DigestAt in the page's time zone; empty: never.
	Digest   string `toml:"digest" env:"DIGEST"`
	DigestAt string `toml:"digest_at" env:"DIGEST_AT"` // such as 07:30
	// DigestTo names the channels that get digests; empty: all.
	DigestTo []string `toml:"digest_to" env:"DIGEST_TO"`
	// DigestPeople sends each person who may enter a digest of their own, by mail.
	DigestPeople bool     `toml:"digest_people" env:"DIGEST_PEOPLE"`
	Mail         Mail     `toml:"mail" envPrefix:"MAIL_"`
	Hooks        []Notice `toml:"hooks" env:"-"`
}

// Mail is the SMTP server for e-mails. Without a host there are none.
type Mail struct {
	Host         string   `toml:"host" env:"HOST"`
	Port         int      `toml:"port" env:"PORT"`
	TLS          string   `toml:"tls" env:"TLS"` // starttls, tls or none
	Username     string   `toml:"username" env:"USERNAME"`
	Password     string   `toml:"password" env:"PASSWORD" secret:"true"`
	PasswordFile string   `toml:"password_file" env:"PASSWORD_FILE"`
	From         string   `toml:"from" env:"FROM"`
	To           []string `toml:"to" env:"TO"`
}

// Notice is an HTTP address that messages are posted to.
type Notice struct {
	Name       string `toml:"name"` // for logs and the state; unique
	URL        string `toml:"url" secret:"true"`
	URLFile    string `toml:"url_file"`             // where the address is a secret
	Format     string `toml:"format"`               // webhook, ntfy or slack
	Secret     string `toml:"secret" secret:"true"` // whsec_…, of a webhook
	SecretFile string `toml:"secret_file"`
	Token      string `toml:"token" secret:"true"` // bearer token, such as ntfy's
	TokenFile  string `toml:"token_file"`
}

// readNotifySecrets reads the secrets of [notify] that are kept in files.
func (c *Config) readNotifySecrets(bad complain) {
	readSecret("notify.mail.password_file", c.Notify.Mail.PasswordFile, &c.Notify.Mail.Password, unread, bad)
	for i := range c.Notify.Hooks {
		h := &c.Notify.Hooks[i]
		for _, s := range []struct {
			setting, path string
			secret        *string
			substitute    string
		}{
			{"url_file", h.URLFile, &h.URL, "https://unread.invalid"},
			{"secret_file", h.SecretFile, &h.Secret, "whsec_" + strings.Repeat("unread00", 3)},
			{"token_file", h.TokenFile, &h.Token, unread},
		} {
			readSecret(fmt.Sprintf("notify.hooks[%d].%s (%s)", i, s.setting, h.Name), s.path, s.secret, s.substitute, bad)
		}
	}
}

// DigestSchedule returns when digests are sent, as a cron expression; "" for never.
func (n Notify) DigestSchedule() string {
	at, err := time.Parse("15:04", n.DigestAt)
	if err != nil || n.Digest == "" {
		return ""
	}
	day := "*"
	if n.Digest == "weekly" {
		day = "1"
	}
	return fmt.Sprintf("%d %d * * %s", at.Minute(), at.Hour(), day)
}

// validateDigest checks the settings of digests; names are those of the channels.
func (c *Config) validateDigest(names map[string]bool, bad func(string, string, ...any)) {
	n := c.Notify
	if n.Digest != "" && n.Digest != "daily" && n.Digest != "weekly" {
		bad("notify.digest", "%q is none of daily, weekly", n.Digest)
	}
	if n.Digest != "" && n.Mail.Host == "" && len(n.Hooks) == 0 {
		bad("notify.digest", "needs a channel: [notify.mail] or [[notify.hooks]]")
	}
	if _, err := time.Parse("15:04", n.DigestAt); err != nil {
		bad("notify.digest_at", "%q is no time such as 07:30", n.DigestAt)
	}
	for _, name := range n.DigestTo {
		if !names[name] {
			bad("notify.digest_to", "%q is no channel: there are mail and the names of [[notify.hooks]]", name)
		}
	}
	if n.DigestPeople && (n.Mail.Host == "" || c.Web.Access == AccessOwner) {
		bad("notify.digest_people", "needs [notify.mail], and [web] access = \"people\" or \"proxy\"")
	}
}

// isWebhookSecret reports whether a secret is as Standard Webhooks writes them.
func isWebhookSecret(secret string) bool {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	return err == nil && len(raw) >= 16 && strings.HasPrefix(secret, "whsec_")
}

func isHTTP(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Hostname() != "" && (u.Scheme == "https" || u.Scheme == "http")
}

func (c *Config) validateNotify(bad func(string, string, ...any)) {
	n := c.Notify
	if n.Heartbeat != "" && !isHTTP(n.Heartbeat) {
		bad("notify.heartbeat", "is no http or https address")
	}
	if m := n.Mail; m.Host != "" {
		if m.From == "" || len(m.To) == 0 {
			bad("notify.mail", "needs from and to")
		}
		for _, address := range append([]string{m.From}, m.To...) {
			if _, err := mail.ParseAddress(address); err != nil && address != "" {
				bad("notify.mail", "%q is no address such as ada@example.org", address)
			}
		}
		if m.Port < 1 || m.Port > 65535 {
			bad("notify.mail.port", "%d is no port", m.Port)
		}
		if m.TLS != "starttls" && m.TLS != "tls" && m.TLS != "none" {
			bad("notify.mail.tls", "%q is none of starttls, tls, none", m.TLS)
		}
	}
	names := map[string]bool{"mail": true}
	for _, h := range n.Hooks {
		if h.Name == "" || names[h.Name] {
			bad("notify.hooks", "each needs a name of its own, and none is mail; %q is not", h.Name)
		}
		names[h.Name] = true
		if !isHTTP(h.URL) {
			bad("notify.hooks", "%s: url is no http or https address", h.Name)
		}
		if h.Format != "webhook" && h.Format != "ntfy" && h.Format != "slack" {
			bad("notify.hooks", "%s: format %q is none of webhook, ntfy, slack", h.Name, h.Format)
		}
		if h.Format == "webhook" && !isWebhookSecret(h.Secret) {
			bad("notify.hooks", "%s: a webhook needs a secret of whsec_ and at least 16 bytes in base64", h.Name)
		}
	}
	c.validateDigest(names, bad)
}
