package syncer

import (
	"strings"
	"testing"
	"time"
)

func TestScheduleNamesEveryWrongExpression(t *testing.T) {
	_, err := Schedule{CatchUp: "*/5 * * * *", Walk: "0 2 31 2 *", Refresh: "soon", Directory: "TZ=0"}.parse()
	if err == nil {
		t.Fatal("wrong expressions were accepted")
	}
	for _, want := range []string{"schedule of walk", "never fires", "schedule of refresh", "schedule of directory"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "catch_up") {
		t.Errorf("error %q blames the right expression", err)
	}
}

func TestScheduleSkipsEmptyExpressions(t *testing.T) {
	tables, err := Schedule{Walk: "@daily"}.parse()
	if err != nil || len(tables) != 1 || tables[0].job != JobWalk {
		t.Fatalf("parse = %v, %v", tables, err)
	}
}

func TestMissed(t *testing.T) {
	tables, err := Schedule{Walk: "0 2 * * *"}.parse()
	if err != nil {
		t.Fatal(err)
	}
	night := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	tests := []struct {
		last, now time.Time
		want      bool
	}{
		{time.Time{}, night, true},
		{night, night.Add(23 * time.Hour), false},
		{night, night.Add(24 * time.Hour), true},
		{night.Add(time.Minute), night.Add(23 * time.Hour), false},
	}
	for _, tt := range tests {
		if got := tables[0].hasMissed(tt.last, tt.now); got != tt.want {
			t.Errorf("missed(%v, %v) = %v, want %v", tt.last, tt.now, got, tt.want)
		}
	}
}

func TestScheduleIsInItsLocation(t *testing.T) {
	loc := time.FixedZone("east", 3*3600)
	tables, err := Schedule{Walk: "0 2 * * *", Location: loc}.parse()
	if err != nil {
		t.Fatal(err)
	}
	got := tables[0].cron.Next(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	if want := time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("next = %v, want %v", got.UTC(), want)
	}
}
