package segment

import (
	"flag"
	"os"
	"testing"
)

// TestMain sets how many random segments are tried.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
