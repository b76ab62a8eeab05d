package notify

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// hostileMail is a mail server that answers by a function, and counts the messages that
// it has accepted.
type hostileMail struct {
	port     int
	mu       sync.Mutex // guards accepted
	accepted int
}

// startHostile starts a server. answer gets each command and writes the answer to it; ""
// is the greeting, and "." the end of a message. The server hangs up when answer returns
// false.
func startHostile(t *testing.T, answer func(s *hostileMail, w io.Writer, command string) bool) *hostileMail {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &hostileMail{port: l.Addr().(*net.TCPAddr).Port}
	var serving sync.WaitGroup
	serving.Go(func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			serving.Go(func() {
				defer c.Close()
				isData := false
				for lines, command := bufio.NewScanner(c), ""; isData && command != "." || answer(s, c, command); command = lines.Text() {
					isData = command == "DATA" || isData && command != "."
					if !lines.Scan() {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return s
}

// accept answers as a server that takes every message.
func (s *hostileMail) accept(w io.Writer, command string) bool {
	text := "250 OK"
	switch command {
	case "":
		text = "220 mail.test"
	case "DATA":
		text = "354 go on"
	case ".":
		s.mu.Lock()
		s.accepted++
		s.mu.Unlock()
	}
	_, err := fmt.Fprintf(w, "%s\r\n", text)
	return err == nil
}

func (s *hostileMail) mail() *Mail {
	return &Mail{Host: "127.0.0.1", Port: s.port, From: "minutebook@example.com", To: []string{"ada@example.com"}, TLS: "none", AllowPrivate: true}
}

// TestAnAcceptedMailIsSent has servers that take a message and are gone before the farewell:
// the message would be sent again if that were a failure.
func TestAnAcceptedMailIsSent(t *testing.T) {
	for _, last := range []string{".", "RSET", "QUIT"} {
		s := startHostile(t, func(s *hostileMail, w io.Writer, command string) bool {
			return (command != last || last == ".") && s.accept(w, command) && command != last
		})
		if err := s.mail().Send(t.Context(), sampleMessage()); err != nil || s.accepted != 1 {
			t.Errorf("gone at %q: %v, accepted %d times", last, err, s.accepted)
		}
	}
}

// TestARefusedRecipientKeepsNobodyFromTheMail has a server that knows one of two recipients,
// who stand with their names in the configuration.
func TestARefusedRecipientKeepsNobodyFromTheMail(t *testing.T) {
	s := startHostile(t, func(s *hostileMail, w io.Writer, command string) bool {
		if command == "RCPT TO:<bob@example.com>" {
			_, err := io.WriteString(w, "550 5.1.1 no such user: Bob@Example.com\r\n")
			return err == nil
		}
		return s.accept(w, command)
	})
	m := s.mail()
	m.To = []string{"Ada <ada@example.com>", "Bob <bob@example.com>"}
	if err := m.Send(t.Context(), sampleMessage()); err != nil || s.accepted != 1 {
		t.Errorf("%v, accepted %d times", err, s.accepted)
	}
	m.To = m.To[1:]
	err := m.Send(t.Context(), sampleMessage())
	if !errors.Is(err, ErrRefused) || s.accepted != 1 {
		t.Errorf("nobody is left: %v, accepted %d times", err, s.accepted)
	}
	if text := strings.ToLower(fmt.Sprint(err)); !strings.Contains(text, "no such user: recipient 1") || strings.Contains(text, "bob") {
		t.Errorf("the error is read by whoever reads the log: %v", err)
	}
}

// TestARecipientWhoseAddressEndsAnotherIsMaskedAlone has a server that repeats addresses of which
// one is a part of the next.
func TestARecipientWhoseAddressEndsAnotherIsMaskedAlone(t *testing.T) {
	s := startHostile(t, func(s *hostileMail, w io.Writer, command string) bool {
		if _, address, ok := strings.Cut(command, "RCPT TO:"); ok {
			_, err := io.WriteString(w, "550 5.1.1 no such user: "+address+"\r\n")
			return err == nil
		}
		return s.accept(w, command)
	})
	m := s.mail()
	m.To = []string{"ann@x.example", "joann@x.example"}
	err := m.Send(t.Context(), sampleMessage())
	if text := fmt.Sprint(err); strings.Count(text, "recipient 1") != 2 || strings.Count(text, "recipient 2") != 2 || strings.Contains(text, "jo") {
		t.Errorf("the error is read by whoever reads the log: %v", err)
	}
}

// TestADelayedRecipientIsNoRefusedRecipient has a server that puts one recipient off at
// first, and refuses another for good: the first gets the message in the end.
func TestADelayedRecipientIsNoRefusedRecipient(t *testing.T) {
	var isPatient atomic.Bool // ada has waited
	s := startHostile(t, func(s *hostileMail, w io.Writer, command string) bool {
		answer := ""
		switch {
		case command == "RCPT TO:<ada@example.com>" && !isPatient.Load():
			answer = "451 4.7.1 greylisted"
		case command == "RCPT TO:<bob@example.com>":
			answer = "550 5.1.1 no such user"
		default:
			return s.accept(w, command)
		}
		_, err := io.WriteString(w, answer+"\r\n")
		return err == nil
	})
	m := s.mail()
	m.To = append(m.To, "bob@example.com", "eve@example.com")
	err := m.Send(t.Context(), sampleMessage())
	if err == nil || errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "recipient 1: 451") || s.accepted != 0 {
		t.Errorf("while ada is put off: %v, accepted %d times", err, s.accepted)
	}
	isPatient.Store(true)
	if err := m.Send(t.Context(), sampleMessage()); err != nil || s.accepted != 1 {
		t.Errorf("then: %v, accepted %d times", err, s.accepted)
	}
}

// TestAHangingMailServerEndsWithTheProgram has servers that stop answering at each step: a
// mail ends when the program does, as a success where the server has taken the message.
func TestAHangingMailServerEndsWithTheProgram(t *testing.T) {
	for _, last := range []string{"", "EHLO", "MAIL", "DATA", ".", "NOOP", "QUIT"} {
		t.Run(last, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := startHostile(t, func(s *hostileMail, w io.Writer, command string) bool {
				if command == last || last != "" && strings.HasPrefix(command, last) {
					cancel()
					return true // without an answer
				}
				return s.accept(w, command)
			})
			sent := make(chan error, 1)
			go func() { sent <- s.mail().Send(ctx, sampleMessage()) }()
			select {
			case err := <-sent:
				if isTaken := s.accepted > 0; isTaken != (err == nil) || !isTaken && !strings.Contains(err.Error(), "interrupted") {
					t.Errorf("accepted %d times: %v", s.accepted, err)
				}
			case <-time.After(mailTime * 2 / 3):
				t.Error("it goes on after its end")
			}
		})
	}
}

// TestAnEndlessAnswerIsCutOff has a server whose greeting does not end.
func TestAnEndlessAnswerIsCutOff(t *testing.T) {
	wrote := make(chan int64, 1)
	s := startHostile(t, func(_ *hostileMail, w io.Writer, _ string) bool {
		n, _ := io.Copy(w, io.LimitReader(endless{}, 100<<20))
		wrote <- n
		return false
	})
	err := s.mail().Send(t.Context(), sampleMessage())
	if err == nil || errors.Is(err, ErrRefused) || len(err.Error()) > 1000 {
		t.Errorf("%.1000v", err)
	}
	if n := <-wrote; n == 100<<20 {
		t.Error("the whole answer was read")
	}
}

type endless struct{}

// Read implements [io.Reader].
func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
