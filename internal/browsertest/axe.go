package browsertest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"minutebook/internal/testrun"
)

// Axe returns the source of axe-core from the user's cache, where make test puts
// it. It skips the test where the cache has none.
func Axe(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	source, err := os.ReadFile(filepath.Join(cache, "minutebook", "axe-core", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		testrun.Lack(t, "axe-core")
	}
	return string(source)
}

// Check runs axe over the open page. It fails the test once for each rule that
// the page breaks, and names the first element that breaks it.
func (b *Browser) Check(axe, page string) {
	b.t.Helper()
	type violation struct {
		ID     string `json:"id"`
		Help   string `json:"help"`
		First  string `json:"first"`
		Number int    `json:"number"`
	}
	if !Evaluate[bool](b, `!!window.axe`) {
		b.Do(chromedp.Evaluate[chromedp.Void](axe))
	}
	b.Do(chromedp.Evaluate[chromedp.Void](`window.checked_ = null;
		axe.run(document, { resultTypes: ["violations"] }).then(r => { checked_ = r.violations.map(v =>
			({ id: v.id, help: v.help, number: v.nodes.length, first: v.nodes[0].html + " " + v.nodes[0].failureSummary })); });`))
	b.WaitFor(`window.checked_ !== null`)
	for _, v := range Evaluate[[]violation](b, `window.checked_`) {
		b.t.Errorf("%s: %s (%s), %d times, first %s", page, v.Help, v.ID, v.Number, v.First)
	}
}

// Prefer sets the scheme that the reader prefers: light or dark.
func (b *Browser) Prefer(scheme string) {
	b.t.Helper()
	_, err := chromedp.Call(b.Context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	if err != nil {
		b.t.Fatal(err)
	}
}
