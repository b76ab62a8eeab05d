package outbound

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestExplainTLS calls servers whose certificates are not well: each error says the
// reason and the remedy in words, and has nothing of the address.
func TestExplainTLS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	start := func(names []string, until time.Time) (url string, trusted *x509.CertPool) {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: until, DNSNames: names, IsCA: true, BasicConstraintsValid: true}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewUnstartedServer(nil)
		s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		t.Cleanup(s.Close)
		trusted = x509.NewCertPool()
		trusted.AddCert(certificate)
		return strings.Replace(s.URL, "127.0.0.1", "localhost", 1), trusted
	}
	own, ownTrusted := start([]string{"localhost"}, time.Now().Add(time.Hour))
	other, otherTrusted := start([]string{"secret.example"}, time.Now().Add(time.Hour))
	old, oldTrusted := start([]string{"localhost"}, time.Now().Add(-time.Hour))
	plain := httptest.NewServer(nil)
	t.Cleanup(plain.Close)
	for _, c := range []struct {
		url     string
		trusted *x509.CertPool
		want    string // "": no error
	}{
		{own, ownTrusted, ""},
		{own, x509.NewCertPool(), "an authority that this machine does not know: have the server"},
		{other, otherTrusted, "for another name: correct the address"},
		{old, oldTrusted, "has expired, or is not valid yet: renew it"},
		{strings.Replace(plain.URL, "http://", "https://", 1), ownTrusted, "does not speak TLS there: correct the port"},
	} {
		transport := NewTransport(Options{AllowPrivate: true})
		transport.TLSClientConfig = &tls.Config{RootCAs: c.trusted}
		resp, err := (&http.Client{Transport: transport}).Get(c.url)
		if c.want == "" {
			if err != nil {
				t.Error(err)
			} else {
				resp.Body.Close()
			}
			continue
		}
		if err == nil {
			t.Errorf("%s: no error", c.want)
			continue
		}
		text := ExplainTLS(err).Error()
		if !strings.Contains(text, c.want) || strings.Contains(text, "localhost") || strings.Contains(text, "secret") || strings.Contains(text, "x509") {
			t.Errorf("%q, want %q", text, c.want)
		}
	}
	if err := io.EOF; ExplainTLS(err) != err {
		t.Error("another error was changed")
	}
}
