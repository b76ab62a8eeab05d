package segment

import (
	"flag"
	"testing"

	"minutebook/internal/testrun"
)

// TestMain sets how many random segments are tried.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	testrun.Main(m)
}
