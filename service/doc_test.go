package service

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestEveryRuleHasARow: docs/service.md says of every numbered rule of the
// specification how it is met.
func TestEveryRuleHasARow(t *testing.T) {
	text, err := os.ReadFile("../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := " "
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) == 4 {
			rows += cells[1]
		}
	}
	for section, rules := range map[int]int{1: 7, 2: 8, 3: 2, 4: 12, 5: 9, 6: 2} {
		for rule := range rules {
			if n := fmt.Sprintf("%d.%d", section, rule+1); !strings.Contains(rows, " "+n+" ") && !strings.Contains(rows, " to "+n+" ") {
				t.Errorf("rule %s has no row", n)
			}
		}
	}
	for _, section := range []string{" 7 ", " 8 ", " 9 "} {
		if !strings.Contains(rows, section) {
			t.Errorf("section %s has no row", section)
		}
	}
}
