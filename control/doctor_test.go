package control

import (
	"testing"
	"time"
)

func TestDoctorJudgesClockAndSpace(t *testing.T) {
	at := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	for away, want := range map[time.Duration]Severity{0: SeverityOK, -9 * time.Second: SeverityOK, 11 * time.Second: SeverityWarning, -time.Hour: SeverityError} {
		var e examination
		e.examineClock(at, at.Add(away))
		if len(e.findings) != 1 || e.findings[0].Severity != want {
			t.Errorf("%s away: %+v", away, e.findings)
		}
	}
	for _, tc := range []struct {
		free, daily int64
		want        Severity
	}{{1 << 30, 0, SeverityOK}, {1 << 30, 1 << 20, SeverityOK}, {6 << 30, 1 << 30, SeverityWarning}} {
		var e examination
		e.examineSpace(tc.free, tc.daily)
		if len(e.findings) != 1 || e.findings[0].Severity != tc.want {
			t.Errorf("%+v: %+v", tc, e.findings)
		}
	}
}
