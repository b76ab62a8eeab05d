package syncer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// getRest asks the media host for the missing bytes. Its errors do not contain
// the address, which is a credential.
func (l *downloader) getRest(ctx context.Context, a *account, t *downloadTask) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url, nil)
	if err != nil || req.URL.Host == "" || req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return nil, fmt.Errorf("fetch recording: %w", errAddress)
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "minutebook")
	own := "id:" + t.row.DownloadID
	if t.row.Fetched > 0 && (t.row.Validator == own || !strings.HasPrefix(t.row.Validator, "id:")) {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", t.row.Fetched))
		if t.row.Validator != own {
			req.Header.Set("If-Range", t.row.Validator)
		}
	}
	client := l.publicClient
	if a.AllowPrivate {
		client = l.privateClient
	}
	resp, err := client.Do(req)
	if named, ok := errors.AsType[*url.Error](err); ok {
		err = named.Err
	}
	if err != nil {
		return nil, fmt.Errorf("fetch recording: %w", err)
	}
	return resp, nil
}

// acceptResponse checks the header of a response and prepares the file for its
// body.
func (l *downloader) acceptResponse(ctx context.Context, t *downloadTask, file *os.File, resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusPartialContent:
		if !isContinuation(resp.Header.Get("Content-Range"), t.row.Fetched, t.row.Size) || isOtherVersion(resp.Header, t.row.Validator) {
			return errors.Join(fmt.Errorf("%w: the part that was sent does not fit", errContent), l.restartFile(ctx, t, file, ""))
		}
		return nil
	case http.StatusOK:
		if n := resp.ContentLength; n >= 0 && n != t.row.Size {
			return fmt.Errorf("%w: %d bytes were announced and %d are sent", errContent, t.row.Size, n)
		}
		return l.restartFile(ctx, t, file, readValidator(resp.Header, t.row.DownloadID))
	case http.StatusRequestedRangeNotSatisfiable:
		return errors.Join(errors.New("fetch recording: the media host has no such part"), l.restartFile(ctx, t, file, ""))
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone, http.StatusBadRequest:
		return fmt.Errorf("%w (%d)", errLink, resp.StatusCode)
	}
	return fmt.Errorf("fetch recording: the media host answers %d", resp.StatusCode)
}

// restartFile empties the partial file, for bytes with the given validator.
func (l *downloader) restartFile(ctx context.Context, t *downloadTask, file *os.File, validator string) error {
	row := t.row
	row.Fetched, row.Validator = 0, validator
	if err := l.saveRow(ctx, t, row); err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return fmt.Errorf("empty partial file: %w", err)
	}
	t.hasher = nil
	return t.rehash(file)
}

// isContinuation reports whether a Content-Range begins at from and ends with a
// file of that size.
func isContinuation(header string, from, size int64) bool {
	return header == fmt.Sprintf("bytes %d-%d/%d", from, size-1, size)
}

// isOtherVersion reports whether the response's strong ETag or its date differs from
// that of the bytes before it: some hosts do not heed If-Range.
func isOtherVersion(h http.Header, validator string) bool {
	if strings.HasPrefix(validator, "id:") {
		return false
	}
	now := h.Get("Last-Modified")
	if strings.HasPrefix(validator, `"`) {
		now = h.Get("ETag")
	}
	return now != "" && !strings.HasPrefix(now, "W/") && now != validator
}

// readValidator returns the value that later tells whether the host still has
// the same bytes: a strong ETag, a date, or else the download's id.
func readValidator(h http.Header, downloadID string) string {
	if tag := h.Get("ETag"); strings.HasPrefix(tag, `"`) {
		return tag
	}
	if date := h.Get("Last-Modified"); date != "" {
		return date
	}
	return "id:" + downloadID
}
