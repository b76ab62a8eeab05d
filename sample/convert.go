package sample

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const stamp = "2006-01-02T15:04:05Z"

// meeting converts the script into the service's shape, with times counted from
// base.
func (s *script) meeting(base time.Time) (*meeting, error) {
	cast, err := s.cast()
	if err != nil {
		return nil, err
	}
	minutes, err := strconv.Atoi(s.headerValue("minutes", ""))
	if err != nil {
		return nil, fmt.Errorf("read its minutes: %w", err)
	}
	starts, err := s.entryOffsets(time.Duration(minutes) * time.Minute)
	if err != nil {
		return nil, err
	}
	scheduled, err := s.scheduledTime(base)
	if err != nil {
		return nil, err
	}
	m := s.newMeeting(scheduled, starts[len(starts)-1])
	m.ScheduledEnd = scheduled.Add((time.Duration(minutes) * time.Minute).Truncate(15*time.Minute) + 15*time.Minute).Format(stamp)
	title := s.headerValue("calendar", m.Title)
	m.MeetingTitle = &title
	if link := s.headerValue("link", ""); link != "" {
		m.MeetingURL = &link
	}
	if err := s.addPeople(m, cast); err != nil {
		return nil, err
	}
	if err := s.addTranscript(m, cast, starts); err != nil {
		return nil, err
	}
	return m, s.addCRM(m)
}

// newMeeting returns a meeting with its ids, addresses and times. The ids and addresses
// depend on the script's name alone, the times also on when the meeting was scheduled and
// how long it took.
func (s *script) newMeeting(scheduled time.Time, length time.Duration) *meeting {
	sum := sha256.Sum256([]byte("tidewell/" + s.slug))
	started := scheduled.Add(time.Duration(sum[8]%150) * time.Second)
	ended := started.Add(length)
	return &meeting{
		Title:       s.headerValue("title", s.slug),
		MeetingType: s.headerValue("type", ""),
		RecordingID: 100_000_000 + int64(binary.BigEndian.Uint32(sum[:4])%900_000_000),
		URL:         fmt.Sprintf("https://meet.%s/calls/%d", Domain, 100_000_000+binary.BigEndian.Uint32(sum[4:8])%900_000_000),
		ShareURL:    "https://meet." + Domain + "/share/" + hex.EncodeToString(sum[:16]),
		CreatedAt:   ended.Add(8 * time.Second).Format(stamp), ScheduledStart: scheduled.Format(stamp),
		RecordingStart: started.Format(stamp), RecordingEnd: ended.Format(stamp),
		DomainsType: "only_internal",
		SharedWith:  s.headerValue("shared", "no_teams"),
		Language:    s.headerValue("language", "en"),
		Summary:     summary{s.style, s.summary},
		Invitees:    []invitee{}, ActionItems: []actionItem{}, Highlights: []mark{},
	}
}

// scheduledTime reads "when". A day on a weekend moves to the Friday before.
func (s *script) scheduledTime(base time.Time) (time.Time, error) {
	day, clock, _ := strings.Cut(s.headerValue("when", ""), " ")
	n, err := strconv.Atoi(day)
	if err != nil {
		return time.Time{}, fmt.Errorf("read its day: %w", err)
	}
	at, err := time.Parse("15:04", clock)
	if err != nil {
		return time.Time{}, fmt.Errorf("read its time: %w", err)
	}
	base = base.UTC()
	day0 := time.Date(base.Year(), base.Month(), base.Day()+n, at.Hour(), at.Minute(), 0, 0, time.UTC)
	switch day0.Weekday() {
	case time.Saturday:
		day0 = day0.AddDate(0, 0, -1)
	case time.Sunday:
		day0 = day0.AddDate(0, 0, -2)
	}
	return day0, nil
}

// entryOffsets spreads the entries over the recording by the length of their texts,
// and keeps the pauses as written. The recording's end follows as a last offset.
func (s *script) entryOffsets(length time.Duration) ([]time.Duration, error) {
	const before, after = 3 * time.Second, 5 * time.Second
	free, total := length-before-after, 0
	for _, e := range s.entries {
		free -= time.Duration(e.pause) * time.Second
		total += speakingTime(e.text)
	}
	if total == 0 || free < time.Duration(len(s.entries))*time.Second {
		return nil, fmt.Errorf("spread %d entries over %s: too many, or none", len(s.entries), length)
	}
	starts, at, spoken := make([]time.Duration, 0, len(s.entries)+1), before, 0
	for _, e := range s.entries {
		at += time.Duration(e.pause) * time.Second
		starts = append(starts, (at + free*time.Duration(spoken)/time.Duration(total)).Truncate(time.Second))
		spoken += speakingTime(e.text)
	}
	return append(starts, length), nil
}

// speakingTime returns the time that a text takes to say, in words. Languages
// without spaces are counted by their characters.
func speakingTime(text string) int {
	return 3 + max(len(strings.Fields(text)), len(text)/7)
}
