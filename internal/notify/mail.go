package notify

import (
	"context"
	"errors"
	"fmt"
	"net/textproto"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"minutebook/internal/outbound"
	"minutebook/internal/phrase"
)

// Mail sends e-mails through an SMTP server.
type Mail struct {
	Host     string
	Port     int
	Username string // empty: no authentication
	Password string
	From     string
	To       []string
	// TLS is "starttls" (which the server must offer), "tls" from the first byte, or
	// "none".
	TLS          string
	AllowPrivate bool // the server may have a private address
}

// mailTime is how long the delivery to the server may take.
const mailTime = 30 * time.Second

// Name implements [Channel].
func (m *Mail) Name() string { return "mail" }

// Send implements [Channel].
func (m *Mail) Send(ctx context.Context, each Message) error { return m.SendTo(ctx, each, m.To...) }

// SendTo sends a message to other recipients than those of the configuration. Its errors name
// recipients by their place.
func (m *Mail) SendTo(ctx context.Context, each Message, to ...string) error {
	msg := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := msg.From(m.From); err != nil {
		return fmt.Errorf("send mail: read the sender: %w", err)
	}
	for i, address := range to {
		if err := msg.AddTo(address); err != nil {
			return fmt.Errorf("send mail: the address of recipient %d cannot be read", i+1)
		}
	}
	if err := m.send(ctx, msg, each); err != nil {
		return fmt.Errorf("send mail: %w", maskRecipients(err, msg))
	}
	return nil
}

// maskRecipients returns an error in which each recipient has its place for its address, which
// the server may repeat.
func maskRecipients(err error, msg *mail.Msg) error {
	text, to := err.Error(), msg.GetTo()
	var places []int // the longest address first: another may be a part of it
	for i := range to {
		places = append(places, i)
	}
	slices.SortStableFunc(places, func(a, b int) int { return len(to[b].Address) - len(to[a].Address) })
	for _, i := range places {
		text = regexp.MustCompile("(?i)<?"+regexp.QuoteMeta(to[i].Address)+">?").ReplaceAllLiteralString(text, "recipient "+strconv.Itoa(i+1))
	}
	return &failure{text, err}
}

// send completes a message and hands it to the server.
func (m *Mail) send(ctx context.Context, msg *mail.Msg, each Message) error {
	msg.Subject("Minutebook: " + phrase.Tame(each.Title))
	msg.SetDateWithValue(each.At)
	msg.SetMessageIDWithValue(each.ID + "@minutebook")
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // absent people's programs answer nothing (RFC 3834)
	if each.Unsubscribe != "" {                          // RFC 8058
		msg.SetGenHeader(mail.HeaderListUnsubscribe, "<"+each.Unsubscribe+">")
		msg.SetGenHeader(mail.HeaderListUnsubscribePost, "List-Unsubscribe=One-Click")
	}
	ctx, cancel := context.WithTimeout(ctx, mailTime)
	defer cancel()
	client, err := mail.NewClient(m.Host, m.options(ctx)...)
	if err != nil {
		return err
	}
	conn, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return m.explain(ctx, err)
	}
	// A server that has taken the message and fails at the farewell must not get it again.
	defer func() { _ = client.CloseWithSMTPClient(conn) }()
	if err := m.transmit(conn, msg, each.Text); err != nil {
		return m.explain(ctx, err)
	}
	return nil
}

// transmit hands a message to the server. When the server refuses some of the recipients
// for good, the others get the message, with the reason; while it puts a recipient off,
// nobody does, so that the next try reaches all. The library's own way knows only the last
// answer about a recipient.
func (m *Mail) transmit(conn *smtp.Client, msg *mail.Msg, text string) error {
	sender, err := msg.GetSender(false)
	if err != nil {
		return err
	}
	recipients, err := msg.GetRecipients()
	if err != nil {
		return err
	}
	if err := conn.Mail(sender); err != nil {
		return markRefused(err)
	}
	var reasons []string
	for _, r := range recipients {
		err := markRefused(conn.Rcpt(r))
		if errors.Is(err, ErrRefused) {
			reasons = append(reasons, r+": "+m.mask(err))
		} else if err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
	}
	if len(reasons) == len(recipients) {
		return fmt.Errorf("%w: %s", ErrRefused, strings.Join(reasons, ", "))
	}
	if len(reasons) > 0 {
		text += "\n\nNot everybody gets this message; correct \"to\" in [notify.mail]: " + strings.Join(reasons, ", ")
	}
	msg.SetBodyString(mail.TypeTextPlain, text+"\n")
	w, err := conn.Data()
	if err != nil {
		return markRefused(err)
	}
	if _, err := msg.WriteTo(w); err != nil {
		return err
	}
	return markRefused(w.Close())
}

// markRefused wraps ErrRefused where the server's answer is for good.
func markRefused(err error) error {
	if answer, ok := errors.AsType[*textproto.Error](err); ok && answer.Code >= 500 {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// mask returns the text of an error without the password, which the server may repeat.
func (m *Mail) mask(err error) string {
	return mask(err.Error(), m.Password, "\x00"+m.Username+"\x00"+m.Password)
}

// explain returns an error in words: an answer of the server as it is, but for the password.
func (m *Mail) explain(ctx context.Context, err error) error {
	var answer *textproto.Error
	switch {
	case ctx.Err() != nil:
		return explain(ctx.Err())
	case strings.Contains(err.Error(), "does not support STARTTLS"):
		return errors.New(`it does not offer STARTTLS, without which nothing is sent; try tls = "tls" with port 465`)
	case errors.As(err, &answer), isWithoutAddress(err):
		return &failure{m.mask(err), err}
	}
	return explain(err)
}

// options returns the options of the connection, which is closed when ctx ends.
func (m *Mail) options(ctx context.Context) []mail.Option {
	dial := closedWith(ctx, outbound.NewTransport(outbound.Options{AllowPrivate: m.AllowPrivate}).DialContext)
	options := []mail.Option{mail.WithPort(m.Port), mail.WithTimeout(mailTime)}
	switch m.TLS {
	case "tls":
		options = append(options, mail.WithSSL())
		dial = overTLS(dial, m.Host)
	case "none":
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	default:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if m.Username != "" {
		kind := mail.SMTPAuthAutoDiscover
		if m.TLS == "none" {
			kind = mail.SMTPAuthPlainNoEnc
		}
		options = append(options, mail.WithSMTPAuth(kind), mail.WithUsername(m.Username), mail.WithPassword(m.Password))
	}
	return append(options, mail.WithDialContextFunc(mail.DialContextFunc(dial)))
}
