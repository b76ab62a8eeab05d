package importer

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// date is a date in the name of a file, and clock a time after it: as in "2026-03-01 10.00
// Weekly.vtt", in "GMT20260301-100000_Recording.vtt" and in "2026-03-01T10-00-00Z.vtt". clock12 is
// one with AM or PM: "Call 2026-03-01 at 3.45.12 PM.vtt". Any other number is of the title.
var (
	date    = regexp.MustCompile(`(GMT)?((?:19|20)\d\d)-?(\d\d)-?(\d\d)`)
	clock12 = regexp.MustCompile(`^[-_T ]+(?:at[_ ]+)?(0?[1-9]|1[0-2])([-.:])([0-5]\d)(?:([-.:])([0-5]\d))?[_\p{Zs}]?([AaPp][Mm])(?:[^\pL\pN]|$)`)
	clock   = regexp.MustCompile(`^[-_T ]+(?:at[_ ]+)?([01]\d|2[0-3])([-.:h]?)([0-5]\d)(?:([-.:]?)([0-5]\d))?(?:(Z)(?:[^\pL\pN]|$)|\D|$)`)
)

// guessByName returns the title and the time that the name of a file says. The time is
// zero when it says none.
func guessByName(name string, zone *time.Location) (title string, at time.Time) {
	title = name
	for ext := extension(title); isTranscriptName(title) || ext == ".transcript"; ext = extension(title) {
		title = stem(title)
	}
	at, begin, end := findDate(title, zone)
	if end > 0 {
		title = title[:begin] + " " + title[end:]
	}
	title = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(title, "\ufffd"), func(r rune) bool { return r == '_' || unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if title = strings.Trim(title, " -.,"); title == "" {
		title = "Meeting"
	}
	return title, at
}

// findDate returns the first date of a text, with the time after it, and where in the text they
// stand: end is 0 without one. Digits that go on a longer number, or name no day, are no date.
func findDate(text string, zone *time.Location) (at time.Time, begin, end int) {
	for {
		found := date.FindStringSubmatchIndex(text[begin:])
		if found == nil {
			return time.Time{}, 0, 0
		}
		fields := date.FindStringSubmatch(text[begin:])
		end, begin = begin+found[1], begin+found[0]
		if begin == 0 || !unicode.IsDigit(rune(text[begin-1])) {
			hours, length, isUTC := clockAfter(text[end:])
			in := zone
			if isUTC || fields[1] != "" {
				in = time.UTC
			}
			if at, err := time.ParseInLocation("20060102150405", fields[2]+fields[3]+fields[4]+hours, in); err == nil {
				return at, begin, end + length
			}
		}
		begin++
	}
}

// clockAfter returns the digits of the time with which a text begins, its length, and whether a Z
// says that it is of UTC: the digits of midnight, and 0, where it begins with none. Seconds are
// written as the minutes are.
func clockAfter(text string) (digits string, length int, isUTC bool) {
	if at, is := clock12.FindStringSubmatchIndex(text), clock12.FindStringSubmatch(text); at != nil && (is[5] == "" || is[4] == is[2]) {
		hour, _ := strconv.Atoi(is[1]) // one or two digits
		if hour %= 12; strings.EqualFold(is[6], "PM") {
			hour += 12
		}
		return fmt.Sprintf("%02d%s%s", hour, is[3], (is[5] + "00")[:2]), at[13], false
	}
	at, is := clock.FindStringSubmatchIndex(text), clock.FindStringSubmatch(text)
	switch {
	case at == nil:
		return "000000", 0, false
	case is[6] != "" && (is[5] == "" || is[4] == is[2]):
		return is[1] + is[3] + (is[5] + "00")[:2], at[13], true
	case is[5] != "" && is[4] == is[2]:
		return is[1] + is[3] + is[5], at[11], false
	case is[5] != "" && is[4] == "": // a longer number
		return "000000", 0, false
	}
	return is[1] + is[3] + "00", at[7], false
}
