package config

import (
	"strings"
	"time"

	"filippo.io/age"

	"minutebook/internal/bucket"
	"minutebook/internal/crontab"
)

// Backup sets the backups that the daemon makes by itself. They are encrypted for
// [Archive.AgeRecipients].
type Backup struct {
	Schedule string `toml:"schedule" env:"SCHEDULE"` // cron expression; empty: the daemon makes none
	To       string `toml:"to" env:"TO"`             // directory of backups, or s3://bucket/prefix
	Keep     int    `toml:"keep" env:"KEEP"`         // generations that stay
	// WithoutMedia leaves the recordings out, which are kept elsewhere.
	WithoutMedia bool `toml:"without_media" env:"WITHOUT_MEDIA"`
	// Prove is how often the newest backup is restored and checked: one of the keys
	// of [ProofPeriods].
	Prove string `toml:"prove" env:"PROVE"`
	// IdentityFile has the age keys for proofs of encrypted backups; empty: they are
	// compared with their hashes only.
	IdentityFile string `toml:"identity_file" env:"IDENTITY_FILE"`
}

// Verify sets the checks of the archive that the daemon makes by itself, a slice at
// a time.
type Verify struct {
	Schedule string `toml:"schedule" env:"SCHEDULE"` // cron expression; empty: never
	Days     int    `toml:"days" env:"DAYS"`         // in which all slices are checked, one a day
}

// ProofPeriods returns the values of backup.prove with the time between two proofs;
// 0 means never.
func ProofPeriods() map[string]time.Duration {
	const day = 24 * time.Hour
	return map[string]time.Duration{"never": 0, "daily": day, "weekly": 7 * day, "monthly": 30 * day}
}

func checkCron(expr string) error {
	if expr == "" {
		return nil
	}
	_, err := crontab.Parse(expr, time.UTC)
	return err
}

func (c *Config) validateUpkeep(bad func(string, string, ...any)) {
	b := c.Backup
	if err := checkCron(b.Schedule); err != nil {
		bad("backup.schedule", "%v", err)
	}
	if b.Schedule != "" && b.To == "" {
		bad("backup.to", "is missing, but backup.schedule is set: name the directory of backups")
	}
	if err := bucket.CheckPlace(b.To); err != nil {
		bad("backup.to", "%v", err)
	} else if !bucket.IsAddress(b.To) {
		c.validateFolder("backup.to", b.To, bad)
	}
	for i, key := range c.Archive.AgeRecipients {
		if _, err := age.ParseRecipients(strings.NewReader(key)); err != nil { // its text is not shown: it may be a secret key
			bad("archive.age_recipients", "the text at place %d is no public key; write keys as age-keygen prints them (age1…)", i+1)
		}
	}
	if b.Keep < 1 {
		bad("backup.keep", "%d is less than 1", b.Keep)
	}
	if _, ok := ProofPeriods()[b.Prove]; !ok {
		bad("backup.prove", "%q is none of never, daily, weekly, monthly", b.Prove)
	}
	if err := checkCron(c.Verify.Schedule); err != nil {
		bad("verify.schedule", "%v", err)
	}
	if d := c.Verify.Days; d < 1 || d > 366 {
		bad("verify.days", "%d is not between 1 and 366", d)
	}
}
