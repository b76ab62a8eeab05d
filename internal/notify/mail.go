package notify

import (
	"context"
	"errors"
	"fmt"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

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

// Send implements [Channel]. When the server refuses some of the recipients, the others get
// the message, with the reason.
func (m *Mail) Send(ctx context.Context, each Message) error {
	err := m.SendTo(ctx, each, m.To...)
	if !errors.Is(err, ErrRefused) {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(m.To), func(to string) bool { return strings.Contains(err.Error(), "<"+to+">") })
	if len(left) == 0 || len(left) == len(m.To) {
		return err
	}
	each.Text += fmt.Sprintf("\n\nNot everybody gets this message; correct \"to\" in [notify.mail]: %v", err)
	return m.SendTo(ctx, each, left...)
}

// SendTo sends a message to other recipients than those of the configuration.
func (m *Mail) SendTo(ctx context.Context, each Message, to ...string) error {
	msg := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := msg.From(m.From); err != nil {
		return fmt.Errorf("send mail: read the sender: %w", err)
	}
	if err := msg.To(to...); err != nil {
		return fmt.Errorf("send mail: read the recipients: %w", err)
	}
	msg.Subject("Minutebook: " + phrase.Tame(each.Title))
	msg.SetDateWithValue(each.At)
	msg.SetMessageIDWithValue(each.ID + "@minutebook")
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // absent people's programs answer nothing (RFC 3834)
	if each.Unsubscribe != "" {                          // RFC 8058
		msg.SetGenHeader(mail.HeaderListUnsubscribe, "<"+each.Unsubscribe+">")
		msg.SetGenHeader(mail.HeaderListUnsubscribePost, "List-Unsubscribe=One-Click")
	}
	msg.SetBodyString(mail.TypeTextPlain, each.Text+"\n")
	ctx, cancel := context.WithTimeout(ctx, mailTime)
	defer cancel()
	client, err := mail.NewClient(m.Host, m.options(ctx)...)
	if err != nil {
		return fmt.Errorf("send mail: %w", err)
	}
	// A server that has taken the message and fails afterwards must not get it again.
	if err := client.DialAndSendWithContext(ctx, msg); err != nil && !msg.IsDelivered() {
		return fmt.Errorf("send mail: %w", m.explain(ctx, err))
	}
	return nil
}

// explain returns the library's error in words: an answer of the server as it is, but for
// the password.
func (m *Mail) explain(ctx context.Context, err error) error {
	var answer *textproto.Error
	var refused *mail.SendError
	masked := errors.New(mask(err.Error(), m.Password, "\x00"+m.Username+"\x00"+m.Password))
	switch {
	case ctx.Err() != nil:
		return explain(ctx.Err())
	case strings.Contains(err.Error(), "does not support STARTTLS"):
		return errors.New(`it does not offer STARTTLS, without which nothing is sent; try tls = "tls" with port 465`)
	case errors.As(err, &refused) && refused.ErrorCode() >= 500:
		return fmt.Errorf("%w: %w", ErrRefused, masked)
	case errors.As(err, &answer), isWithoutAddress(err):
		return masked
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
