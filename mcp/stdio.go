package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// MaxMessage is the longest accepted message, in bytes.
const MaxMessage = 1 << 20

// Answer answers one message of the protocol. The reply to a notification is
// nil. It fails when ctx ends first.
func (s *Server) Answer(ctx context.Context, message json.RawMessage) (json.RawMessage, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/mcp", bytes.NewReader(message))
	if err != nil {
		return nil, fmt.Errorf("answer an assistant: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	reply := &reply{header: http.Header{}, status: http.StatusOK}
	s.handler.ServeHTTP(reply, req)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	body := bytes.TrimSpace(reply.body.Bytes())
	switch {
	case len(body) == 0 && reply.status < 300:
		return nil, nil
	case !json.Valid(body):
		refused, _ := refusal(message, body)
		return refused, nil
	}
	return body, nil
}

// unknownMethod begins the text with which the library's handler refuses a method that it
// does not know.
const unknownMethod = "JSON RPC not handled"

// The protocol's codes of refused messages.
const (
	invalidMessage = -32700
	invalidRequest = -32600
	methodNotFound = -32601
	internalError  = -32603
)

// refusal returns the protocol's answer to a message that is not accepted, and its code.
func refusal(message json.RawMessage, why []byte) (answer json.RawMessage, code int) {
	code = invalidRequest
	switch {
	case !json.Valid(message):
		code = invalidMessage
	case bytes.HasPrefix(why, []byte(unknownMethod)):
		code = methodNotFound
	}
	return newError(message, code, string(why)), code
}

// newError returns the protocol's error in answer to a message.
func newError(message json.RawMessage, code int, why string) json.RawMessage {
	id := json.RawMessage("null")
	if given := readID(message); given != nil {
		id = given
	}
	raw, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, //nolint:errchkjson // valid parts alone
		"error": map[string]any{"code": code, "message": why}})
	return raw
}

// readID returns the id of a message, or nil.
func readID(message json.RawMessage) json.RawMessage {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(message, &m) != nil {
		return nil
	}
	return m.ID
}

// reply records a handler's answer.
type reply struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *reply) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *reply) WriteHeader(status int) { r.status = status }

// Write implements http.ResponseWriter.
func (r *reply) Write(b []byte) (int, error) { return r.body.Write(b) }

// Flush implements http.Flusher: the answer is whole when the handler returns.
func (r *reply) Flush() {}

// Serve reads messages from the lines of in and writes the replies as lines of
// out, one after the other. It returns nil when in or ctx ends. Where answer fails, such
// as while the daemon restarts, the reply is an error of the protocol: the next message may
// be answered again.
func Serve(ctx context.Context, in io.Reader, out io.Writer, answer func(context.Context, json.RawMessage) (json.RawMessage, error)) error {
	lines := make(chan []byte)
	failed := make(chan error, 1)
	go func() { // ends with in, or with the process
		defer close(lines)
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, MaxMessage)
		for scanner.Scan() {
			select {
			case lines <- bytes.Clone(scanner.Bytes()):
			case <-ctx.Done():
				return
			}
		}
		failed <- scanner.Err()
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, more := <-lines:
			if !more {
				return readError(ctx, failed)
			}
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			if err := answerLine(ctx, out, line, answer); err != nil {
				return err
			}
		}
	}
}

func readError(ctx context.Context, failed <-chan error) error {
	select {
	case err := <-failed:
		if errors.Is(err, bufio.ErrTooLong) {
			return fmt.Errorf("read a message: it is longer than %d bytes", MaxMessage)
		}
		return err
	case <-ctx.Done():
		return nil
	}
}

func answerLine(ctx context.Context, out io.Writer, line []byte, answer func(context.Context, json.RawMessage) (json.RawMessage, error)) error {
	if !json.Valid(line) {
		_, err := io.WriteString(out, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this is not JSON"}}`+"\n")
		return err
	}
	reply, err := answer(ctx, line)
	if err != nil && ctx.Err() == nil && readID(line) != nil {
		reply = newError(line, internalError, err.Error())
	}
	if reply == nil {
		return nil
	}
	var compact bytes.Buffer // a message is a line
	if err := json.Compact(&compact, reply); err != nil {
		return fmt.Errorf("answer an assistant: %w", err)
	}
	compact.WriteByte('\n')
	_, err = out.Write(compact.Bytes())
	return err
}
