package sample

import (
	"bytes"
	_ "embed"
	"io"
	"time"
)

// RecordingLength is the length of both recordings.
const RecordingLength = time.Hour

//go:embed recordings/clock.mp4
var clock []byte

//go:embed recordings/ticks.m4a
var ticks []byte

// Video returns a reader of its own over the hour-long picture with the time burnt
// in as HH:MM:SS, and its media type: H.264 in MP4, one frame a second, a key frame
// every ten, its index in front.
func Video() (r io.ReadSeeker, contentType string) {
	return bytes.NewReader(clock), "video/mp4"
}

// Audio returns a reader of its own over the hour-long sound, a soft tick every ten
// seconds and a lower one every minute, and its media type: AAC in MP4.
func Audio() (r io.ReadSeeker, contentType string) {
	return bytes.NewReader(ticks), "audio/mp4"
}
