package dialguard

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestGlobal(t *testing.T) {
	tests := map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "2606:4700:4700::1111": true, "2a00:1450::1": true,
		"127.0.0.1": false, "::1": false, "0.0.0.0": false, "::": false,
		"10.1.2.3": false, "172.16.0.1": false, "172.32.0.1": true, "192.168.1.1": false,
		"169.254.169.254": false, "100.64.1.1": false, "224.0.0.1": false, "255.255.255.255": false,
		"fe80::1%eth0": false, "fc00::1": false, "ff02::1": false, "2001:db8::1": false,
		"::ffff:127.0.0.1": false, "::ffff:8.8.8.8": true, "64:ff9b::7f00:1": false, "2002:7f00:1::": false,
	}
	for text, want := range tests {
		if got := Global(netip.MustParseAddr(text)); got != want {
			t.Errorf("Global(%s) = %v, want %v", text, got, want)
		}
	}
}

func TestTransportRefusesLoopback(t *testing.T) {
	reached := false
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer srv.Close()
	_, err := (&http.Client{Transport: Transport(false)}).Get(srv.URL)
	if !errors.Is(err, ErrNotGlobal) || reached {
		t.Fatalf("guarded request to loopback: error %v, reached %v", err, reached)
	}
	resp, err := (&http.Client{Transport: Transport(true)}).Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if !reached {
		t.Fatal("an allowed private address was not reached")
	}
}
