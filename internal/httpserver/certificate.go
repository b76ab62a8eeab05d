package httpserver

import (
	"crypto/tls"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// TLSConfig returns the settings for TLS with the certificate and key of two PEM files.
// They are read again when either has changed. Files that cannot be read, as in the
// middle of a renewal, leave the old certificate in use.
func TLSConfig(certFile, keyFile string, log zerolog.Logger) (*tls.Config, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	if err := c.load(); err != nil {
		return nil, err
	}
	return &tls.Config{GetCertificate: c.getCertificate, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}, nil
}

// certificate is the newest readable certificate of two files.
type certificate struct {
	certFile, keyFile string
	log               zerolog.Logger

	mu      sync.Mutex
	looked  time.Time
	stamp   [2]fileStamp
	current *tls.Certificate
	failed  string // why the files could not be read at the last look
}

type fileStamp struct {
	at   time.Time
	size int64
}

// load reads the files unless they are as they were. It needs mu, but for the
// first time.
func (c *certificate) load() error {
	var stamp [2]fileStamp
	for n, name := range []string{c.certFile, c.keyFile} {
		fi, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("read certificate: %w", err)
		}
		stamp[n] = fileStamp{fi.ModTime(), fi.Size()}
	}
	if c.current != nil && stamp == c.stamp {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("read certificate %s with key %s: %s", c.certFile, c.keyFile, strings.TrimPrefix(err.Error(), "tls: "))
	}
	if c.current != nil {
		c.log.Info().Str("certificate", c.certFile).Msg("certificate read again")
	}
	c.current, c.stamp = &pair, stamp
	return nil
}

// getCertificate is for tls.Config.GetCertificate. It checks the files at most once a
// second.
func (c *certificate) getCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) > time.Second {
		c.looked = time.Now()
		failed := ""
		if err := c.load(); err != nil {
			if failed = err.Error(); failed != c.failed { // else it is logged already
				c.log.Error().Err(err).Msg("the old certificate stays in use")
			}
		}
		c.failed = failed
	}
	return c.current, nil
}
