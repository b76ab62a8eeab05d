package syncer

import (
	"testing"

	"minutebook/internal/testrun"
)

func TestMain(m *testing.M) { testrun.MainOnOneProcessor(m) }
