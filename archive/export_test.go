package archive

import "testing"

// SpillBodies puts large deliveries into overflow files of an archive's inbox, which
// nothing writes back, and returns a function that reads the bodies of an archive.
// It is for the test of backups, which are made above this package.
func SpillBodies(t *testing.T, a *Archive, n int) (want map[string]string, read func(*Archive) map[string]string) {
	t.Helper()
	bring := spillInto(t, a.inbox, n)
	a.inbox.stopBringing()
	bring()
	return largeBodies(n), func(a *Archive) map[string]string { return bodiesOf(t, a.inbox) }
}

// SpillsMore tells whether the inbox writes overflow files.
func SpillsMore(a *Archive) bool { return a.inbox.spill.takes(leastSpilled) }
