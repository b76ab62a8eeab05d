package bucket

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// TestStalledConnectionsEnd reads and writes slowly for minutes, which goes on, and
// then waits for bytes that do not come, which ends.
func TestStalledConnectionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		c := &stallConn{near, stallTimeout}
		defer c.Close()
		read := make(chan error, 1)
		go func() { // the answer, which is waited for during the upload
			_, err := io.ReadFull(c, make([]byte, 20))
			read <- err
		}()
		go func() {
			for range 20 {
				time.Sleep(20 * time.Second)
				io.ReadFull(far, make([]byte, 1))
			}
			for range 20 {
				time.Sleep(20 * time.Second)
				far.Write([]byte("x"))
			}
		}()
		for range 20 {
			if _, err := c.Write([]byte("x")); err != nil {
				t.Fatalf("a slow write: %v", err)
			}
		}
		if err := <-read; err != nil {
			t.Fatalf("a slow answer: %v", err)
		}
		began := time.Now()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != stallTimeout {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
