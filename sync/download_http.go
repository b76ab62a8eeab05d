package syncer

import (
	"cmp"
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
	version, _ := splitValidator(t.row.Validator)
	if t.row.Fetched > 0 && (version == own || !strings.HasPrefix(version, "id:")) {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", t.row.Fetched))
		if version != own {
			req.Header.Set("If-Range", version)
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
		version, digest := splitValidator(t.row.Validator)
		if !isContinuation(resp.Header.Get("Content-Range"), t.row.Fetched, t.row.Size) || isOtherVersion(resp.Header, version) {
			return errors.Join(fmt.Errorf("%w: the part that was sent does not fit", errContent), l.restartFile(ctx, t, file, ""))
		}
		row := t.row
		row.Validator = joinValidator(version, cmp.Or(readDigest(resp.Header), digest))
		if row.Validator == t.row.Validator {
			return nil
		}
		return l.saveRow(ctx, t, row)
	case http.StatusOK:
		if n := resp.ContentLength; n >= 0 && n != t.row.Size {
			return fmt.Errorf("%w: %d bytes were announced and %d are sent", errContent, t.row.Size, n)
		}
		return l.restartFile(ctx, t, file, joinValidator(readVersion(resp.Header, t.row.DownloadID), readDigest(resp.Header)))
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
func isOtherVersion(h http.Header, version string) bool {
	if strings.HasPrefix(version, "id:") {
		return false
	}
	now := h.Get("Last-Modified")
	if strings.HasPrefix(version, `"`) {
		now = h.Get("ETag")
	}
	return now != "" && !strings.HasPrefix(now, "W/") && now != version
}

// readVersion returns the value that later tells whether the host still has
// the same bytes: a strong ETag, a date, or else the download's id. Other texts could be
// read back as something else.
func readVersion(h http.Header, downloadID string) string {
	if tag := h.Get("ETag"); strings.HasPrefix(tag, `"`) && !strings.Contains(tag, digestMark) {
		return tag
	}
	if date := h.Get("Last-Modified"); isDate(date) {
		return date
	}
	return "id:" + downloadID
}

func isDate(text string) bool {
	_, err := http.ParseTime(text)
	return err == nil
}

// readDigest returns the SHA-256, in base64, that a response announces of the whole file, ""
// if it announces none (RFC 9530 Repr-Digest, or the older Digest).
func readDigest(h http.Header) string {
	for _, field := range []string{h.Get("Repr-Digest"), h.Get("Digest")} {
		for _, digest := range strings.Split(field, ",") {
			if name, value, _ := strings.Cut(strings.TrimSpace(digest), "="); strings.EqualFold(name, "sha-256") {
				return strings.Trim(value, ":")
			}
		}
	}
	return ""
}

// digestMark stands in the validator of a row between the version and the announced digest.
const digestMark = " sha-256="

// joinValidator makes the validator of a row, which holds the digest too: it has to be there
// when the file is whole, whoever fetches the last part.
func joinValidator(version, digest string) string {
	if digest == "" {
		return version
	}
	return version + digestMark + digest
}

// splitValidator returns the version of the bytes in the partial file, and the digest that was
// announced of the whole file, "" if none was.
func splitValidator(validator string) (version, digest string) {
	version, digest, _ = strings.Cut(validator, digestMark)
	return version, digest
}
