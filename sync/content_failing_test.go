package syncer_test

import (
	"net/http"

	"minutebook/bench/sync/rig"
)

// failing has the calls fail that fails chooses.
func failing(u *rig.Upstream, fails func(*http.Request) bool) {
	inner := u.Wire.Handler
	u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fails(r) {
			internalError(w, r)
			return
		}
		inner.ServeHTTP(w, r)
	})
}
