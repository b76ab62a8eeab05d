package notify

import "testing"

// run begins as another version does.
func (b *bench) run(version string) {
	b.Helper()
	b.restart()
	if err := b.ChangeVersion(b.Context(), version, func(earlier string) string { return version + " after " + earlier }); err != nil {
		b.Fatal(err)
	}
}

// TestAVersionIsNewsOnce starts versions one after the other: each channel hears once of each
// that follows another, and nothing is over later.
func TestAVersionIsNewsOnce(t *testing.T) {
	a, c := &recorded{name: "a"}, &recorded{name: "c", refuse: down}
	b := newBench(t, a, c)
	b.run("1")
	b.update()
	b.expect(a)
	for range 2 {
		b.run("2")
		b.update()
	}
	b.expect(a, "version 2 runs")
	c.refuse = nil
	b.run("2")
	b.update()
	b.run("1")
	b.update()
	for _, each := range []*recorded{a, c} {
		b.expect(each, "version 2 runs", "version 1 runs")
		if first := each.got[0]; first.Kind != News || first.Key != "version" || first.Text != "2 after 1" {
			t.Errorf("told %+v", first)
		}
	}
}
