package api

import "time"

// Download is a request for a recording's media (specification 2.7). Video or
// Audio is present once it is completed, FailureReason once it has failed.
type Download struct {
	DownloadID    string            `json:"download_id"`
	RecordingID   int64             `json:"recording_id"`
	Status        string            `json:"status"`
	Video         Opt[DownloadFile] `json:"video,omitzero"`
	Audio         Opt[DownloadFile] `json:"audio,omitzero"`
	FailureReason Opt[string]       `json:"failure_reason,omitzero"`
	Date          time.Time         `json:"-"` // of the answer, by the service's clock; zero: unknown
}

// Values of Download.Status.
const (
	DownloadProcessing = "processing"
	DownloadCompleted  = "completed"
	DownloadFailed     = "failed"
	DownloadExpired    = "expired"
)

// Values of Download.FailureReason.
const (
	GenerationFailed  = "generation_failed"
	GenerationTimeout = "generation_timeout"
)

// DownloadFile is a finished file. URL is itself the credential: it is never logged,
// and used only to request the file's bytes.
type DownloadFile struct {
	URL           string `json:"url"`
	ContentType   string `json:"content_type"`
	FileSizeBytes int64  `json:"file_size_bytes"`
	ExpiresAt     Time   `json:"expires_at"`
}

// File returns the finished file and whether it is a video. ok is false until there
// is one.
func (d *Download) File() (f DownloadFile, video, ok bool) {
	if f, ok := d.Video.Get(); ok && f.URL != "" {
		return f, true, true
	}
	if f, ok := d.Audio.Get(); ok && f.URL != "" {
		return f, false, true
	}
	return DownloadFile{}, false, false
}
