package control

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"minutebook/archive"
	"minutebook/internal/diskspace"
)

// diskKey is the mark with the free space of the last days.
const diskKey = "upkeep/disk"

// The forecast reads a sample of each day, over the last two weeks.
const (
	sampleEvery = 24 * time.Hour
	sampleCount = 14
)

// sample is the free space of the disk at a time.
type sample struct {
	At   time.Time `json:"at"`
	Free int64     `json:"free"`
}

// disk reads the space of the data directory's disk, with a forecast.
func (h Deps) disk(ctx context.Context) (d Disk, err error) {
	if d.Free, d.Size, err = diskspace.Read(h.Archive.Dir()); err != nil {
		return d, err
	}
	samples, err := h.readSamples(ctx)
	d.FullAt = forecastFull(samples, sample{h.Archive.Now(), d.Free})
	return d, err
}

func (h Deps) readSamples(ctx context.Context) (samples []sample, err error) {
	raw, err := h.Archive.Mark(ctx, diskKey)
	if err == nil && raw != nil {
		if err = json.Unmarshal(raw, &samples); err != nil {
			err = fmt.Errorf("read the free space of the last days: %w", err)
		}
	}
	return samples, err
}

// SampleDisk keeps the free space of today for the forecast, once a day.
func (h Deps) SampleDisk(ctx context.Context) error {
	samples, err := h.readSamples(ctx)
	if err != nil {
		samples = nil // it is only a forecast
	}
	now := h.Archive.Now()
	if n := len(samples); n > 0 && now.Sub(samples[n-1].At).Abs() < sampleEvery {
		return nil
	}
	free, _, err := diskspace.Read(h.Archive.Dir())
	if err != nil {
		return err
	}
	samples = append(samples, sample{now, free})
	raw, err := json.Marshal(samples[max(0, len(samples)-sampleCount):])
	if err != nil {
		return fmt.Errorf("keep the free space of today: %w", err)
	}
	return h.Archive.SetMarks(ctx, archive.Mark{Key: diskKey, Value: raw})
}

// forecastFull returns when the free space ends, if it goes on falling as from the
// first sample to now; zero without a whole day of samples, and beyond a year.
func forecastFull(samples []sample, now sample) time.Time {
	if len(samples) == 0 {
		return time.Time{}
	}
	passed, used := now.At.Sub(samples[0].At), samples[0].Free-now.Free
	if passed < sampleEvery || used <= 0 {
		return time.Time{}
	}
	left := passed.Seconds() * float64(now.Free) / float64(used)
	if left > (365 * 24 * time.Hour).Seconds() {
		return time.Time{}
	}
	return now.At.Add(time.Duration(left * float64(time.Second)))
}
