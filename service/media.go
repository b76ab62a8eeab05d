package service

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"minutebook/archive"
	"minutebook/archive/media"
	"minutebook/internal/byterange"
	"minutebook/internal/httpserver"
	"minutebook/service/fault"
)

// baseURL is how the caller reaches this service, for links in the answer.
func (s *Service) baseURL(r *http.Request) string {
	if url := *s.publicURL.Load(); url != "" {
		return url
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// mediaURL is the signed link to a download's file. The signature covers all of
// its path and its query, and the link carries no other credential.
func (s *Service) mediaURL(d *download) string {
	return d.baseURL + mediaPath(d) + "?" + s.mediaQuery(d)
}

func mediaPath(d *download) string {
	file := "video.mp4"
	if d.kind == archive.MediaAudio {
		file = "audio.m4a"
	}
	return BasePath + "/media/" + d.id + "/" + file
}

func (s *Service) mediaQuery(d *download) string {
	expires := strconv.FormatInt(d.expiresAt.Unix(), 10)
	return "expires=" + expires + "&signature=" + url.QueryEscape(s.signer.Sign("media", mediaPath(d), expires))
}

// errMediaLink is the answer to a link with any character changed, and to one
// that is not valid yet or any more.
var errMediaLink = forbidden("this link is not valid")

// stream is a file about to be sent, with the function that gives back its place.
type stream struct {
	download *download
	content  io.ReadSeekCloser
	hash     string
	release  func()
}

// media serves the file behind a signed link, with ranges. The link is judged
// within the bounds of every request; the sending has bounds of its own.
func (s *Service) media(w http.ResponseWriter, r *http.Request) {
	var m *stream
	s.withBounds(s.publicHandler(func(_ http.ResponseWriter, r *http.Request) (err error) {
		m, err = s.openStream(r)
		return err
	}, http.MethodGet, http.MethodHead)).ServeHTTP(w, r)
	if m == nil {
		return
	}
	defer m.release()
	defer m.content.Close()
	h := w.Header()
	h.Set("Content-Type", m.download.contentType)
	h.Set("Cache-Control", "private, no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox") // whatever upstream said that it is, it runs nothing here
	h.Set("ETag", fmt.Sprintf(`"%s-%d"`, m.hash, m.download.size))
	r = byterange.Canonical(r, m.download.size)
	ctx, end := s.transfers.begin(r.Context(), m.download.recordingID)
	defer end()
	bounds := httpserver.StreamBounds{Stall: s.timeouts.stall, Judge: s.timeouts.judge, Grace: graceTime, Slowest: slowest}
	answer, endStream := httpserver.NewStream(ctx, &mediaAnswer{ResponseWriter: w}, bounds,
		func(ctx context.Context) error { return s.mayStream(ctx, m.download) })
	defer endStream()
	http.ServeContent(s.faults.Media(m.download.recordingID, answer), r, "", time.Time{}, m.content)
}

// mayStream fails when the person who asked for a download may not download the
// recording any more, or is not active.
func (s *Service) mayStream(ctx context.Context, d *download) error {
	if err := s.mirror.Refresh(ctx); err != nil {
		return err
	}
	if _, allowed := s.mirror.MayDownload(d.recordingID, d.email); !allowed || !s.mirror.IsActive(d.email) {
		return errMediaLink
	}
	return nil
}

// openStream opens the file of a link. The link is good while who asked for the
// download may download the recording, and is active.
func (s *Service) openStream(r *http.Request) (*stream, error) {
	ctx := r.Context()
	d, err := s.store.download(ctx, r.PathValue("download_id"))
	if err != nil {
		return nil, err
	}
	if d == nil || r.URL.EscapedPath() != mediaPath(d) || !isSameSecret(r.URL.RawQuery, s.mediaQuery(d)) {
		return nil, errMediaLink
	}
	if now := s.now(); now.Before(d.readyAt) || d.failure != "" || !now.Before(d.expiresAt) || s.faults.RollFor(fault.Expire, d.recordingID) {
		return nil, errMediaLink
	}
	if err := s.mayStream(ctx, d); err != nil {
		return nil, err
	}
	release, err := s.streams.begin(d.credential)
	if err != nil {
		return nil, err
	}
	content, err := s.openMedia(ctx, d)
	if err != nil {
		release()
		if errors.Is(err, archive.ErrNotFound) {
			err = notFound("recording")
		}
		return nil, err
	}
	m := &stream{d, content, d.sha256, release}
	if m.hash == "" {
		sum := sha256.New()
		_, err = io.Copy(sum, content)
		if err == nil {
			_, err = content.Seek(0, io.SeekStart)
		}
		m.hash = hex.EncodeToString(sum.Sum(nil))
	}
	if err != nil {
		release()
		return nil, errors.Join(fmt.Errorf("hash the recording: %w", err), content.Close())
	}
	return m, nil
}

// openMedia opens the bytes of a download.
func (s *Service) openMedia(ctx context.Context, d *download) (io.ReadSeekCloser, error) {
	if d.sha256 == "" {
		r, _ := s.sampleFile(d.kind)
		return nopCloser{r}, nil
	}
	r, _, err := s.archive.Media().Open(ctx, d.sha256)
	if err != nil {
		return nil, err
	}
	return media.Reporting{ReadSeekCloser: r, Report: func(err error) {
		if ctx.Err() == nil {
			s.log.Error().Err(err).Int64("recording_id", d.recordingID).Msg("read recording")
		}
	}}, nil
}

type nopCloser struct{ io.ReadSeeker }

// Close does nothing: a sample holds nothing open.
func (nopCloser) Close() error { return nil }

func (s *Service) sampleFile(kind archive.MediaKind) (io.ReadSeeker, string) {
	if kind == archive.MediaAudio {
		return s.opts.Audio()
	}
	return s.opts.Video()
}

// chooseSample gives a download of the sandbox its recording: a video, unless
// the directory file says otherwise of the meeting.
func (s *Service) chooseSample(ctx context.Context, d *download) error {
	d.kind = archive.MediaVideo
	var media string
	err := s.store.db.R.QueryRowContext(ctx, `SELECT media, failure_reason FROM recordings WHERE recording_id = ?`,
		d.recordingID).Scan(&media, &d.failure)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return fmt.Errorf("read recording of %d: %w", d.recordingID, err)
	case media == "none":
		return errNoMedia
	case media == string(archive.MediaAudio):
		d.kind = archive.MediaAudio
	}
	r, contentType := s.sampleFile(d.kind)
	d.contentType = contentType
	if d.size, err = r.Seek(0, io.SeekEnd); err != nil {
		return fmt.Errorf("measure recording: %w", err)
	}
	return nil
}
