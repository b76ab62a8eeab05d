package testrun_test

import (
	"net"
	"testing"

	"minutebook/internal/testrun"
)

func TestAFreeAddressBelongsToItsTest(t *testing.T) {
	taken := map[string]bool{}
	for range 500 {
		address := testrun.FreeAddress(t)
		if taken[address] {
			t.Fatalf("%s is given twice", address)
		}
		taken[address] = true
	}
	address := testrun.FreeAddress(t)
	for range 2 { // a daemon is stopped and started again
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
}
