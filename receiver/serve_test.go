package receiver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minutebook/archive/inbox"
)

// writePair writes a self-signed certificate with a serial number.
func writePair(t *testing.T, cert, key string, serial int64) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTLSWithHTTP2AndReload(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")
	writePair(t, cert, key, 1)
	r := start(t, Options{TLSCert: cert, TLSKey: key})
	url := "https://" + r.addr
	deliver := func(id string) (serial int64, proto string, status int) {
		client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		defer client.CloseIdleConnections()
		resp, err := client.Do(signedRequest(t, url, "anna", secretA, id, time.Now(), []byte(meeting)))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.TLS.PeerCertificates[0].SerialNumber.Int64(), resp.Proto, resp.StatusCode
	}
	serial, proto, status := deliver("msg_1")
	if serial != 1 || proto != "HTTP/2.0" || status != 200 {
		t.Fatalf("certificate %d over %s: %d", serial, proto, status)
	}
	// Half a renewal: the old pair stays in use.
	if err := os.WriteFile(cert, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond) // the files are looked at once a second
	if serial, _, status = deliver("msg_2"); serial != 1 || status != 200 {
		t.Errorf("with a broken file: certificate %d, %d", serial, status)
	}
	writePair(t, cert, key, 2)
	waitFor(t, func() bool { serial, _, _ = deliver("msg_3"); return serial == 2 })
	if n := len(r.pending(t)); n != 3 {
		t.Errorf("%d deliveries are kept, want 3", n)
	}
}

func TestHTTP2SlowSenderIs408(t *testing.T) {
	t.Parallel() // BodyTime bounds the handshake too: it must do on a busy machine
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")
	writePair(t, cert, key, 1)
	r := start(t, Options{TLSCert: cert, TLSKey: key, BodyTime: time.Second})
	req := signedRequest(t, "https://"+r.addr, "anna", secretA, "msg_1", time.Now(), []byte(meeting))
	body, w := io.Pipe()
	defer w.Close()
	req.Body, req.ContentLength = body, 1000
	client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 408 || resp.ProtoMajor != 2 {
		t.Errorf("%s %s, want 408", resp.Proto, resp.Status)
	}
}

func TestHalfATLSPairIsRefused(t *testing.T) {
	box, err := inbox.Open(t.Context(), filepath.Join(t.TempDir(), "inbox.db"), inbox.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	if _, err := New(Options{Inbox: box, TLSCert: "c.pem"}); err == nil || !strings.Contains(err.Error(), "tls_key") {
		t.Errorf("error %v", err)
	}
	r, err := New(Options{Inbox: box, TLSCert: "no-such-c.pem", TLSKey: "no-such-k.pem"})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Serve(t.Context(), ln); err == nil || !strings.Contains(err.Error(), "no-such-c.pem") {
		t.Errorf("serving without the files: %v", err)
	}
}

// A delivery that is with the writer when the daemon is to stop gets its answer.
func TestStopAnswersWhatItTook(t *testing.T) {
	gate, reached := make(chan struct{}), make(chan struct{}, 100)
	r := startOn(t, filepath.Join(t.TempDir(), "inbox.db"), inbox.Options{
		Fault: func(s inbox.Step, done bool) error {
			if s == inbox.StepCommit && !done {
				reached <- struct{}{}
				<-gate
			}
			return nil
		}}, Options{})
	got := make(chan int)
	go func() { got <- r.deliver(t, "msg_1", meeting) }() // a lost connection fails the test there
	<-reached
	stopped := make(chan struct{})
	go func() { r.stop(); close(stopped) }()
	waitFor(t, func() bool {
		c, err := net.Dial("tcp", r.addr)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	select {
	case <-stopped:
		t.Error("it stopped before it answered")
	default:
	}
	close(gate)
	if status := <-got; status != 200 {
		t.Errorf("status %d", status)
	}
	<-stopped
}
