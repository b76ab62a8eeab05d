package config

import (
	"net/mail"
	"path/filepath"
	"strings"
)

// Import sets how meetings that other programs recorded come into the archive.
type Import struct {
	// Watch is a folder whose meetings the daemon imports by itself; empty: none.
	Watch string `toml:"watch" env:"WATCH"`
	// Owner ("Name <address>") recorded those whose metadata names nobody; empty: only the
	// archive's owner sees them.
	Owner string `toml:"owner" env:"OWNER"`
	// VisibleTo are the addresses, "team:Name" or "everyone" that see those whose metadata
	// does not say who does.
	VisibleTo []string `toml:"visible_to" env:"VISIBLE_TO"`
}

func (c *Config) validateImport(bad func(string, string, ...any)) {
	if o := c.Import.Owner; o != "" {
		if _, err := mail.ParseAddress(o); err != nil {
			bad("import.owner", "%q is no address; write \"ada@company.example\" or \"Ada Lovelace <ada@company.example>\"", o)
		}
	}
	for _, party := range c.Import.VisibleTo {
		team, isTeam := strings.CutPrefix(party, "team:")
		_, err := mail.ParseAddress(party)
		if err != nil && party != "everyone" && (!isTeam || strings.TrimSpace(team) == "") {
			bad("import.visible_to", "%q is neither an address, nor \"team:Name\", nor \"everyone\"", party)
		}
	}
	c.validateFolder("import.watch", c.Import.Watch, bad)
}

// validateFolder refuses a folder that has the archive in it, or lies in it.
func (c *Config) validateFolder(setting, path string, bad func(string, string, ...any)) {
	if path == "" || c.DataDir == "" {
		return
	}
	rel, err := filepath.Rel(c.DataDir, path)
	back, errBack := filepath.Rel(path, c.DataDir)
	if err == nil && isBelow(rel) || errBack == nil && isBelow(back) {
		bad(setting, "%s and the data directory are one within the other: name a folder of its own", path)
	}
}

// isBelow reports whether a relative path does not leave its folder.
func isBelow(rel string) bool {
	return rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
