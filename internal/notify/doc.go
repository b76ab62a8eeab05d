// Package notify reports conditions that need a person: by e-mail, by signed webhooks, and by
// messages in the forms of ntfy and Slack.
//
//	channel.go   the message, and a channel that carries it
//	mail.go      e-mail by SMTP
//	hook.go      webhooks, ntfy, Slack, and the heartbeat
//	dial.go      connections to mail servers, which end with the program
//	notifier.go  conditions: each is reported once, and once when it is over
//
// The state of a [Notifier] is saved before and after each message. A crash between
// sending and saving sends a message again with the same id, by which a receiver of
// webhooks recognises it. Addresses are dialled through package outbound, and neither
// errors nor logs have an address or a secret in them.
package notify
