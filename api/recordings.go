package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"minutebook/internal/rawjson"
)

// Content is a transcript or a summary, read by itself.
type Content struct {
	// Raw is the transcript's array or the summary's object, verbatim. It is nil
	// when there is none yet: it was null, without content, or answered 404.
	Raw json.RawMessage
	// NotFound reports an answer 404: the content does not exist yet, or the
	// recording does not exist or is not visible to this caller.
	NotFound bool
	SentAt   time.Time
	Order    int64 // see WithOrder
}

// Transcript reads a recording's transcript (specification 4.3; heavy).
func (c *Client) Transcript(ctx context.Context, id int64) (*Content, error) {
	return c.readContent(ctx, id, "transcript", PartTranscript)
}

// Summary reads a recording's summary (specification 4.4; heavy).
func (c *Client) Summary(ctx context.Context, id int64) (*Content, error) {
	return c.readContent(ctx, id, "summary", PartSummary)
}

func (c *Client) readContent(ctx context.Context, id int64, name string, part Part) (*Content, error) {
	sent := c.now()
	a, err := c.do(ctx, get(recordingPath(id, name), nil).asHeavy())
	if IsNotFound(err) {
		return &Content{NotFound: true, SentAt: sent}, nil
	}
	if err != nil {
		return nil, err
	}
	raw := contentIn(a.body, name)
	if !HasContent(part, raw) {
		raw = nil
	}
	return &Content{Raw: raw, SentAt: a.sentAt, Order: a.order}, nil
}

// contentIn returns the member of an answer with the given name, or else the body
// itself.
func contentIn(body []byte, name string) json.RawMessage {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || !json.Valid(body) {
		return nil
	}
	members, _ := rawjson.Members(body)
	for _, m := range members {
		if m.Key == name || m.Key == "default_"+name {
			body = m.Value
		}
	}
	return json.RawMessage(body)
}

// RequestDownload requests a recording's media (specification 4.5). With a
// destinationURL the service POSTs the completed download there. Every call makes a
// new download. See [IsForbidden] and [IsNoMedia] for lasting refusals.
func (c *Client) RequestDownload(ctx context.Context, id int64, destinationURL string) (*Download, error) {
	cl := &call{method: http.MethodPost, path: recordingPath(id, "download"), classes: []Class{ClassGlobal, ClassDownload}}
	if destinationURL != "" {
		body, err := json.Marshal(map[string]string{"destination_url": destinationURL})
		if err != nil {
			return nil, err
		}
		cl.body = body
	}
	return c.readDownload(ctx, id, cl)
}

// Download reads the state of a download (specification 4.6).
func (c *Client) Download(ctx context.Context, id int64, downloadID string) (*Download, error) {
	return c.readDownload(ctx, id, get(recordingPath(id, "downloads/"+url.PathEscape(downloadID)), nil))
}

func (c *Client) readDownload(ctx context.Context, id int64, cl *call) (*Download, error) {
	a, err := c.do(ctx, cl)
	if err != nil {
		return nil, err
	}
	d := new(Download)
	if err := decodeLenient(a.body, d); err != nil || d.DownloadID == "" || d.Status == "" {
		return nil, &brokenError{method: cl.method, path: cl.path, cause: fmt.Errorf("%w: it is no download", errUnusable)}
	}
	if d.RecordingID == 0 {
		d.RecordingID = id
	}
	d.Date = a.date
	return d, nil
}

func recordingPath(id int64, rest string) string {
	return "/recordings/" + strconv.FormatInt(id, 10) + "/" + rest
}
