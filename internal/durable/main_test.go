package durable

import (
	"testing"

	"minutebook/internal/testrun"
)

func TestMain(m *testing.M) { testrun.Main(m) }
