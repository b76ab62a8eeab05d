package service

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/sqlite"
	"minutebook/service/fault"
)

// downloadLife is how long a generated file can be fetched (section 8).
const downloadLife = 24 * time.Hour

// download is a row of the downloads. Its status follows from the time.
type download struct {
	id, credential, email         string
	recordingID                   int64
	kind                          archive.MediaKind
	sha256                        string // "" is a recording of the sandbox
	size                          int64
	contentType                   string
	baseURL                       string
	destination                   string
	failure                       string
	createdAt, readyAt, expiresAt time.Time
	generated                     bool // generated for an earlier request: the answer is completed at once
}

// status is where the download stands in 3.1 at a time.
func (d *download) status(now time.Time) string {
	switch {
	case now.Before(d.readyAt):
		return api.DownloadProcessing
	case d.failure != "":
		return api.DownloadFailed
	case !now.Before(d.expiresAt):
		return api.DownloadExpired
	}
	return api.DownloadCompleted
}

// downloadAnswer is the download as the interface shows it (2.7) with a status.
func (s *Service) downloadAnswer(d *download, status string) api.Download {
	a := api.Download{DownloadID: d.id, RecordingID: d.recordingID, Status: status}
	switch status {
	case api.DownloadFailed:
		a.FailureReason = api.Some(d.failure)
	case api.DownloadCompleted:
		file := api.Some(api.DownloadFile{URL: s.mediaURL(d), ContentType: d.contentType,
			FileSizeBytes: d.size, ExpiresAt: api.TimeOf(d.expiresAt)})
		if d.kind == archive.MediaAudio {
			a.Audio = file
		} else {
			a.Video = file
		}
	}
	return a
}

// postDownload is POST /recordings/{recording_id}/download (4.5).
func (s *Service) postDownload(w http.ResponseWriter, r *http.Request, c caller) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	destination, err := s.downloadBody(r)
	if err != nil {
		return err
	}
	visible, allowed := s.mirror.MayDownload(id, c.email)
	if !visible {
		return notFound("recording")
	}
	if !allowed {
		return forbidden("this recording is shared with you with limited access")
	}
	d, err := s.newDownload(r, c, id, destination)
	if err != nil {
		return err
	}
	status := d.status(d.createdAt)
	if d.kind == archive.MediaVideo && !d.generated {
		status = api.DownloadProcessing // 3.1: generated in the background, however quick
	}
	if err := s.store.putDownload(r.Context(), d, s.callbackBody(d)); err != nil {
		return err
	}
	s.wakeSender()
	writeJSON(w, http.StatusAccepted, s.downloadAnswer(d, status))
	return nil
}

// callbackBody is the body for the destination_url once the download has completed
// or failed; nil without a destination_url.
func (s *Service) callbackBody(d *download) []byte {
	if d.destination == "" {
		return nil
	}
	body, err := json.Marshal(s.downloadAnswer(d, d.status(d.readyAt)))
	if err != nil {
		return nil // plain values always can be
	}
	return body
}

func (s *Service) newDownload(r *http.Request, c caller, recordingID int64, destination string) (*download, error) {
	d := &download{recordingID: recordingID, credential: c.id, email: c.email, destination: destination, baseURL: s.baseURL(r)}
	d.createdAt = s.now().Truncate(time.Millisecond).UTC()
	d.readyAt = d.createdAt
	if err := s.chooseMedia(r.Context(), d); err != nil {
		return nil, err
	}
	var err error
	if d.kind == archive.MediaVideo && s.faults.RollFor(fault.Ready, recordingID) {
		if d.generated, err = s.store.wasGenerated(r.Context(), d); err != nil {
			return nil, err
		}
	}
	if d.kind == archive.MediaVideo && !d.generated {
		d.readyAt = d.createdAt.Add(s.opts.Generation)
		if d.failure == "" {
			d.failure = s.faults.Generation(recordingID)
		}
	}
	d.expiresAt = d.readyAt.Add(downloadLife)
	d.id, err = s.store.newID("dl_")
	return d, err
}

// chooseMedia gives a download its file: the archive's video, else its audio; in the
// sandbox, where there is neither, a sample. 422 without any.
func (s *Service) chooseMedia(ctx context.Context, d *download) error {
	attached, err := s.archive.MediaOf(ctx, d.recordingID)
	if err != nil {
		return err
	}
	for _, kind := range []archive.MediaKind{archive.MediaVideo, archive.MediaAudio} {
		for _, m := range attached {
			if m.Kind == kind {
				d.kind, d.sha256, d.size, d.contentType = kind, m.SHA256, m.Size, m.ContentType
				return nil
			}
		}
	}
	if s.opts.Sandbox {
		return s.chooseSample(ctx, d)
	}
	return errNoMedia
}

var errNoMedia = &failure{status: http.StatusUnprocessableEntity, text: "the recording has no downloadable media"}

// downloadBody reads the optional body of 4.5.
func (s *Service) downloadBody(r *http.Request) (destination string, err error) {
	if err := readJSON(r, map[string]any{"destination_url": &destination}, true); err != nil || destination == "" {
		return "", err
	}
	return destination, s.checkDestination(destination)
}

// getDownload is GET /recordings/{recording_id}/downloads/{download_id} (4.6).
func (s *Service) getDownload(w http.ResponseWriter, r *http.Request, c caller) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	d, err := s.store.download(r.Context(), r.PathValue("download_id"))
	if err != nil {
		return err
	}
	if d == nil || d.recordingID != id || !isSameSecret(d.credential, c.id) {
		return notFound("download")
	}
	if _, allowed := s.mirror.MayDownload(id, c.email); !allowed {
		return notFound("download")
	}
	status := d.status(s.now())
	if status == api.DownloadCompleted && d.sha256 != "" {
		row, err := s.archive.Row(r.Context(), id)
		if err != nil {
			return err
		}
		if d.kind == archive.MediaVideo && !row.HasVideo || d.kind == archive.MediaAudio && !row.HasAudio {
			status = api.DownloadExpired // a rule has deleted the recording since
		}
	}
	writeJSON(w, http.StatusOK, s.downloadAnswer(d, status))
	return nil
}

// wasGenerated reports whether an earlier download of the recording is completed.
func (st store) wasGenerated(ctx context.Context, d *download) (generated bool, err error) {
	err = st.db.R.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM downloads WHERE recording_id = ? AND ready_at <= ? AND failure_reason = '')`,
		d.recordingID, d.createdAt.UnixMilli()).Scan(&generated)
	if err != nil {
		return false, fmt.Errorf("read downloads of %d: %w", d.recordingID, err)
	}
	return generated, nil
}

// putDownload stores a download and its callback, in one commit.
func (st store) putDownload(ctx context.Context, d *download, body []byte) error {
	return st.db.WriteTx(ctx, func(tx *sql.Tx) error {
		if err := st.refuseForgotten(ctx, d.recordingID); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO downloads (id, recording_id, credential, email, kind, sha256, size, content_type,
			base_url, destination_url, failure_reason, created_at, ready_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			d.id, d.recordingID, d.credential, d.email, string(d.kind), d.sha256, d.size, d.contentType,
			d.baseURL, d.destination, d.failure, d.createdAt.UnixMilli(), d.readyAt.UnixMilli(), d.expiresAt.UnixMilli())
		if err != nil {
			return fmt.Errorf("store download: %w", err)
		}
		if body == nil {
			return nil
		}
		return st.insertCallback(ctx, tx, callback{owner: d.email, kind: "download", url: d.destination, recordingID: d.recordingID, body: body, at: d.readyAt})
	})
}

// download reads a download; nil when there is none.
func (st store) download(ctx context.Context, id string) (*download, error) {
	d := &download{id: id}
	var created, ready, expires int64
	err := st.db.R.QueryRowContext(ctx, `SELECT recording_id, credential, email, kind, sha256, size, content_type,
		base_url, destination_url, failure_reason, created_at, ready_at, expires_at FROM downloads WHERE id = ?`, id).
		Scan(&d.recordingID, &d.credential, &d.email, &d.kind, &d.sha256, &d.size, &d.contentType,
			&d.baseURL, &d.destination, &d.failure, &created, &ready, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read download: %w", err)
	}
	d.createdAt, d.readyAt, d.expiresAt = sqlite.Time(created), sqlite.Time(ready), sqlite.Time(expires)
	return d, nil
}
