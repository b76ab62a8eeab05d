// Package smtptest runs a mail server for tests: SMTP with STARTTLS or without, and with
// one account.
//
// It keeps every message in memory, and stops with the test.
package smtptest

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// The only account.
const (
	Username = "minutebook"
	Password = "hidden-mail-password"
)

// Mail is a message that a server accepted.
type Mail struct {
	From string
	To   []string
	Data string // headers and body
}

// Server is a running mail server.
type Server struct {
	Port int
	// CertFile has the certificate, for SSL_CERT_FILE.
	CertFile string

	mu     sync.Mutex // guards the fields below
	mails  []Mail
	refuse *smtp.SMTPError
	logins int
}

// Start starts a server on the loopback. It offers STARTTLS if encrypted is true.
func Start(t *testing.T, encrypted bool) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Port: l.Addr().(*net.TCPAddr).Port}
	server := smtp.NewServer(s)
	server.Domain, server.AllowInsecureAuth, server.ErrorLog = "mail.test", true, log.New(io.Discard, "", 0)
	if encrypted {
		server.TLSConfig, s.CertFile = certificate(t)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() { server.Close(); serving.Wait() })
	return s
}

// certificate returns the certificate of net/http's test servers, which is for 127.0.0.1
// and example.com, with a file of it.
func certificate(t *testing.T) (*tls.Config, string) {
	t.Helper()
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	file := filepath.Join(t.TempDir(), "mail.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: web.TLS.Certificates}, file
}

// Refuse makes the server answer every message with an error, or take them again with nil.
func (s *Server) Refuse(err *smtp.SMTPError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = err
}

// Mails returns the messages that were accepted.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails)
}

// Logins returns how often the password was sent.
func (s *Server) Logins() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logins
}

// NewSession implements smtp.Backend.
func (s *Server) NewSession(*smtp.Conn) (smtp.Session, error) { return &session{server: s}, nil }

// session is a connection of a client.
type session struct {
	server *Server
	mail   Mail
}

// AuthMechanisms implements smtp.AuthSession.
func (*session) AuthMechanisms() []string { return []string{sasl.Plain} }

// Auth implements smtp.AuthSession.
func (e *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, username, password string) error {
		e.server.mu.Lock()
		defer e.server.mu.Unlock()
		e.server.logins++
		if username != Username || password != Password {
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "no login with " + password}
		}
		return nil
	}), nil
}

// Mail implements smtp.Session.
func (e *session) Mail(from string, _ *smtp.MailOptions) error {
	e.mail = Mail{From: from}
	return nil
}

// Rcpt implements smtp.Session.
func (e *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	e.mail.To = append(e.mail.To, to)
	return nil
}

// Data implements smtp.Session.
func (e *session) Data(r io.Reader) error {
	data, err := io.ReadAll(r)
	e.server.mu.Lock()
	defer e.server.mu.Unlock()
	if refuse := e.server.refuse; err == nil && refuse != nil {
		return refuse
	}
	e.mail.Data = string(data)
	e.server.mails = append(e.server.mails, e.mail)
	return errors.Join(err)
}

// Reset implements smtp.Session.
func (e *session) Reset() { e.mail = Mail{} }

// Logout implements smtp.Session.
func (*session) Logout() error { return nil }
