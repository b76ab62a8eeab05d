package service

import (
	"net/http"
	"testing"
)

// checked hands every answer on.
func checked(_ *testing.T, h http.Handler) http.Handler { return h }
