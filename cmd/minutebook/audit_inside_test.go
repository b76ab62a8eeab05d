package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"minutebook/web/access"
)

// TestAuditRowsSayAllIDs has a row with each id that there is.
func TestAuditRowsSayAllIDs(t *testing.T) {
	t.Parallel()
	ids := access.IDs{Person: 101, Session: 102, Token: 103, Meeting: 104, Count: 105, Method: access.MethodOIDC, Hash: "h107", Account: "a108", Job: "j109", Delivery: 110}
	line := describeIDs(ids, "101@acme.example")
	for field, value := range reflect.ValueOf(ids).Fields() {
		if value.IsZero() || !strings.Contains(line, fmt.Sprint(value)) {
			t.Errorf("%s is not in %q", field.Name, line)
		}
	}
}
