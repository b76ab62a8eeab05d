// Package clip cuts a span out of a recording by ffmpeg, where it is installed. The clip
// is encoded anew, so that it begins at the asked moment and not at the recording's last
// key frame before it.
//
// A recording in a file is read from there. Any other one is offered to ffmpeg on
// loopback, with a password of its own and for as long as the clip takes, so that only the
// parts that the clip needs are read and no copy is written.
//
// A clip is a temporary file in the data directory that is deleted before it is read. A
// crash while ffmpeg writes leaves one, which [DeleteUnfinished] deletes.
package clip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"minutebook/internal/durable"
)

// Bounds of a clip and of the work for it.
const (
	MaxLength = 30 * time.Minute
	maxTime   = 5 * time.Minute // that ffmpeg may take
	maxBytes  = 1 << 30
	maxAtOnce = 2
)

// The errors of Cut that are the asking person's to know.
var (
	ErrBusy    = errors.New("other clips are being cut")
	ErrRead    = errors.New("the recording cannot be read")
	ErrTooLate = errors.New("the recording ends before the clip begins")
	ErrSpan    = fmt.Errorf("a clip has a length of at most %v", MaxLength)
)

// Cutter cuts clips. It is safe for concurrent use.
type Cutter struct {
	program, dir string
	slots        chan struct{}
}

// New returns a cutter with the ffmpeg of this machine and temporary files in dir, or nil
// where ffmpeg is not installed.
func New(dir string) *Cutter {
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		return nil
	}
	return &Cutter{program: program, dir: dir, slots: make(chan struct{}, maxAtOnce)}
}

// DeleteUnfinished deletes the temporary files that a crash has left in dir. No cutter is
// in use there yet.
func DeleteUnfinished(dir string) error {
	left, err := fs.Glob(os.DirFS(dir), tempPattern)
	if err != nil {
		return err
	}
	for _, name := range left {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete an unfinished clip: %w", err)
		}
	}
	return nil
}

const tempPattern = durable.TempPrefix + "clip-*"

// Cut returns the span from from to to of a recording, as MP4 with its picture or
// without. The caller closes the clip, which then is gone. It fails with ErrSpan, also for a
// clip of a gigabyte, with ErrTooLate for a span behind the recording's end, with ErrRead
// where the recording that source opens cannot be read, and with ErrBusy instead of waiting.
func (c *Cutter) Cut(ctx context.Context, source Source, from, to time.Duration, video bool) (_ *os.File, err error) {
	if from < 0 || to <= from || to-from > MaxLength {
		return nil, ErrSpan
	}
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	default:
		return nil, ErrBusy
	}
	clip, err := os.CreateTemp(c.dir, tempPattern)
	if err != nil {
		return nil, fmt.Errorf("cut a clip: %w", err)
	}
	defer func() {
		if err = errors.Join(err, os.Remove(clip.Name())); err != nil {
			err = errors.Join(err, clip.Close())
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	in, err := source.input(ctx)
	if err != nil {
		return nil, err
	}
	err = c.run(ctx, in.environment, arguments(in, clip.Name(), from, to, video))
	if unread := in.end(); unread != nil {
		err = fmt.Errorf("%w: %w", ErrRead, unread)
	}
	if err != nil {
		return nil, fmt.Errorf("cut a clip: %w", err)
	}
	switch info, err := clip.Stat(); {
	case err != nil:
		return nil, err
	case info.Size() >= maxBytes:
		return nil, ErrSpan
	case info.Size() < 4096: // perhaps a container of nothing
		content, err := io.ReadAll(io.NewSectionReader(clip, 0, info.Size()))
		if err == nil && !bytes.Contains(content, []byte("trak")) {
			err = ErrTooLate
		}
		return clip, err
	}
	return clip, nil
}

// arguments returns ffmpeg's. Recordings are a stranger's files: only containers of media
// are read, by the protocols of the recording alone, no playlist that leads elsewhere.
func arguments(in input, clip string, from, to time.Duration, video bool) []string {
	seconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
	args := []string{"-nostdin", "-hide_banner", "-loglevel", "error", "-protocol_whitelist", in.protocols,
		"-format_whitelist", "mov,matroska,webm,mp3,ogg,wav,aac,flac,avi", "-ss", seconds(from), "-i", in.address,
		"-t", seconds(to - from), "-map_metadata", "-1", "-map_chapters", "-1", "-sn", "-dn", "-threads", "2"}
	if video {
		args = append(args, "-map", "0:v:0", "-c:v", "libx264", "-preset", "veryfast", "-crf", "23", "-pix_fmt", "yuv420p",
			"-vf", "scale=trunc(iw/2)*2:trunc(ih/2)*2")
	}
	return append(args, "-map", "0:a:0?", "-c:a", "aac", "-movflags", "+faststart", "-fs", strconv.Itoa(maxBytes), "-f", "mp4", "-y", "file:"+clip)
}

// run runs ffmpeg until it or ctx ends. Its environment has no credential of this process.
func (c *Cutter) run(ctx context.Context, environment, args []string) error {
	var words bytes.Buffer
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Env = append([]string{}, environment...) // nil would be this process's
	cmd.Dir = c.dir
	cmd.Stderr = &words
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("run ffmpeg: %w: %.300s", err, words.String())
	}
	return nil
}
