package notify

import (
	"context"
	"errors"
	"time"
)

// Kind is the sort of a message.
type Kind string

// The kinds of messages.
const (
	Problem Kind = "problem" // a condition began
	Over    Kind = "over"    // a condition ended
	News    Kind = "news"    // something happened, or a digest
)

// Message reports that a condition began or ended, or something else that happened.
type Message struct {
	ID    string    `json:"id"` // the same for every try
	Kind  Kind      `json:"type"`
	Key   string    `json:"key"` // of the condition or the news, such as "account/ada"
	Title string    `json:"title"`
	Text  string    `json:"text"`
	At    time.Time `json:"timestamp"`

	// Unsubscribe is the address of a page that ends such mails, by one POST; "" for
	// mails that the configuration asks for.
	Unsubscribe string `json:"-"`
}

// Channel is a way on which messages go to people.
type Channel interface {
	// Name identifies the channel in the state and in logs. It has no secret.
	Name() string
	// Send delivers a message or fails. Its error has no secret and no address of a server, and
	// wraps [ErrRefused] where the other side answered and does not take the message.
	Send(ctx context.Context, m Message) error
}

// ErrRefused is wrapped in the error of a message that the other side does not take.
var ErrRefused = errors.New("the message is refused")
