package config

import (
	"slices"
	"strings"
	"testing"
)

// TestReloadTakesOverWhatCanChange loads a second file over a first one.
func TestReloadTakesOverWhatCanChange(t *testing.T) {
	const first = "data_dir = \"/d\"\n"
	for _, tc := range []struct {
		name, next       string
		changed, restart []string
		refused          string
	}{
		{"nothing", first, []string{}, []string{}, ""},
		{"level and hosts", first + "[log]\nlevel = \"debug\"\n[web]\npasswords = false\n", []string{"log.level", "web.passwords"}, []string{}, ""},
		{"account", strings.Replace(account, `"data"`, `"/d"`, 1) + "api_key = \"k\"\n", []string{"accounts"}, []string{}, ""},
		{"rules", first + "[[retention.rules]]\nmedia_after_days = 9\n", []string{"retention.rules"}, []string{}, ""},
		{"listener", first + "[web]\nlisten = \"127.0.0.1:1\"\ntime_zone = \"UTC\"\n", []string{"web.time_zone"}, []string{"web.listen"}, ""},
		{"in steps", first + "[web]\naccess = \"people\"\npublic_url = \"https://m.example\"\nlisten = \"0.0.0.0:80\"\n",
			[]string{"web.access", "web.public_url"}, []string{"web.listen"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			present, err := load(t, first)
			if err != nil {
				t.Fatal(err)
			}
			next, err := load(t, tc.next)
			if err != nil {
				t.Fatal(err)
			}
			merged, changed, restart, err := present.Reload(next)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(changed, tc.changed) || !slices.Equal(restart, tc.restart) {
				t.Errorf("changed %q, restart %q", changed, restart)
			}
			if merged.Web.Listen != present.Web.Listen || merged.Log.Level != next.Log.Level || len(merged.Accounts) != len(next.Accounts) {
				t.Errorf("merged %+v", merged)
			}
		})
	}
}

// TestReloadRefusesWhatOpensTheDoor asks for a page for its owner alone on a listener
// that the whole network reaches until a restart.
func TestReloadRefusesWhatOpensTheDoor(t *testing.T) {
	present, err := load(t, "data_dir = \"/d\"\n[web]\naccess = \"people\"\npublic_url = \"https://m.example\"\nlisten = \"0.0.0.0:80\"\n")
	if err != nil {
		t.Fatal(err)
	}
	next, err := load(t, "data_dir = \"/d\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := present.Reload(next); err == nil || !strings.Contains(err.Error(), "web.listen") {
		t.Errorf("got %v", err)
	}
}
