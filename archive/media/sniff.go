package media

import (
	"errors"
	"io"
	"net/http"
)

// sniff returns the content type of a file by its first bytes.
func sniff(r io.ReaderAt) (string, error) {
	var head [512]byte
	n, err := r.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return sniffContent(head[:n]), nil
}

// sniffContent is http.DetectContentType, and knows the containers of recordings
// that it takes for something else.
func sniffContent(head []byte) string {
	if len(head) >= 12 && string(head[4:8]) == "ftyp" {
		switch string(head[8:12]) {
		case "M4A ", "M4B ":
			return "audio/mp4"
		case "qt  ":
			return "video/quicktime"
		}
		return "video/mp4"
	}
	if len(head) >= 2 && head[0] == 0xff && head[1]&0xe6 == 0xe2 {
		return "audio/mpeg" // an MP3 frame without an ID3 tag
	}
	if len(head) >= 2 && head[0] == 0xff && head[1]&0xf6 == 0xf0 {
		return "audio/aac"
	}
	if len(head) >= 4 && string(head[:4]) == "fLaC" {
		return "audio/flac"
	}
	return http.DetectContentType(head)
}
