// Package notify reports conditions that need a person: by e-mail, by signed webhooks, and by
// messages in the forms of ntfy and Slack.
//
//	channel.go         the message, and a channel that carries it
//	mail.go            e-mail by SMTP
//	hook.go            webhooks, ntfy, Slack, and the heartbeat
//	dial.go            connections to mail servers, which end with the program
//	failure.go         why a connection fails, in words
//	notifier.go        conditions: each is reported once, and once when it is over
//	state.go           the memory of a Notifier, and its messages that wait
//	channels_state.go  how the channels are doing
//
// The state of a [Notifier] is saved before and after each message. A crash between
// sending and saving sends a message again with the same id, by which a receiver of
// webhooks recognises it. Addresses are dialled through package outbound, and neither
// errors nor logs have a secret or the address of a server in them. The error of a mail names
// the recipients whom the server does not take.
package notify
