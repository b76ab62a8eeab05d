package service

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/service/limit"
	"minutebook/service/mirror"
)

// meetingFilters are the parameters that a cursor is bound to.
var meetingFilters = []string{"calendar_invitees_domains", "calendar_invitees_domains_type",
	"created_after", "created_before", "meeting_type", "recorded_by", "teams"}

// includeParts are the include flags of the list and the part each asks for.
var includeParts = []struct {
	param string
	part  api.Part
}{
	{"include_transcript", api.PartTranscript},
	{"include_summary", api.PartSummary},
	{"include_action_items", api.PartActionItems},
	{"include_highlights", api.PartHighlights},
	{"include_crm_matches", api.PartCRM},
}

// meetingsQuery is a request for a page of meetings (4.1).
type meetingsQuery struct {
	mirror.Query
	include []api.Part
	filters string // canonical, for the cursor
	cursor  string
}

// meetingsClasses: content makes the list a heavy call (section 8).
func meetingsClasses(r *http.Request) []limit.Class {
	q := r.URL.Query()
	for _, name := range []string{"include_transcript", "include_summary"} {
		if enabled, err := boolParam(q, name); err == nil && enabled {
			return heavyClasses(r)
		}
	}
	return lightClasses(r)
}

// parseMeetingsQuery reads the parameters; an invalid value is a 400.
func parseMeetingsQuery(values url.Values) (meetingsQuery, error) {
	v := stripBrackets(values)
	q := meetingsQuery{
		Query: mirror.Query{Domains: foldedValues(v["calendar_invitees_domains"]), RecordedBy: foldedValues(v["recorded_by"]), Teams: nonEmptyValues(v["teams"]),
			MeetingType: v.Get("meeting_type")}, cursor: v.Get("cursor"), filters: filterKey(v, meetingFilters...),
	}
	for _, inc := range includeParts {
		enabled, err := boolParam(v, inc.param)
		if err != nil {
			return q, err
		}
		if enabled {
			q.include = append(q.include, inc.part)
		}
	}
	switch q.DomainsType = v.Get("calendar_invitees_domains_type"); q.DomainsType {
	case "", api.DomainsAll:
		q.DomainsType = ""
	case api.DomainsOnlyInternal, api.DomainsExternal:
	default:
		return q, badRequest("calendar_invitees_domains_type must be all, only_internal or one_or_more_external")
	}
	for _, address := range q.RecordedBy {
		if !strings.Contains(address, "@") {
			return q, badRequest("recorded_by[] must be e-mail addresses")
		}
	}
	var err error
	if q.After, err = timeParam(v, "created_after", 0); err != nil {
		return q, err
	}
	q.Before, err = timeParam(v, "created_before", time.Millisecond-1) // up: a meeting of the same millisecond may be before it
	return q, err
}

// asksContent reports whether the list is asked for parts that OAuth apps may not have
// from it.
func (q *meetingsQuery) asksContent() bool {
	return slices.Contains(q.include, api.PartTranscript) || slices.Contains(q.include, api.PartSummary)
}

// stripBrackets accepts key[]=v and key=v alike for arrays, and for nothing
// else: a flag has one spelling, so that all that read it read the same.
func stripBrackets(values url.Values) url.Values {
	joined := make(url.Values, len(values))
	for key, vs := range values {
		joined[key] = vs
	}
	for _, name := range arrayFilters() {
		if both := slices.Concat(values[name], values[name+"[]"]); len(both) > 0 {
			joined[name] = both
		}
	}
	return joined
}

func boolParam(v url.Values, name string) (bool, error) {
	switch text := strings.ToLower(v.Get(name)); text {
	case "", "false", "0":
		return false, nil
	case "true", "1":
		return true, nil
	}
	return false, badRequest("%s must be true or false", name)
}

// timeParam reads an instant, in whole milliseconds by round; a plus sign that was not
// encoded arrives as a space and is put back.
func timeParam(v url.Values, name string, round time.Duration) (*int64, error) {
	text := strings.ToUpper(v.Get(name)) // RFC 3339 allows t and z
	if text == "" {
		return nil, nil
	}
	if len(text) > 19 {
		text = text[:19] + strings.ReplaceAll(text[19:], " ", "+")
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t, err = time.Parse(time.DateOnly, text)
	}
	// time.Parse takes T7:31:26Z too, and a comma for the point.
	if err != nil || len(text) > 13 && text[13] != ':' || strings.Contains(text, ",") {
		return nil, badRequest("%s must be a date-time such as 2025-10-15T17:31:26Z", name)
	}
	bound := t.Add(round).UnixMilli()
	return &bound, nil
}

// checkSpelling refuses a parameter in a spelling that is not read, such as
// recorded_by[0] or status[]: a filter that is dropped would show too much.
func checkSpelling(values url.Values) error {
	for key := range values {
		name, rest, bracket := strings.Cut(key, "[")
		array := slices.Contains(arrayFilters(), name)
		if bracket && slices.Contains(parameters(), name) && !(array && rest == "]") {
			if array {
				name += "[]"
			}
			return badRequest("%q is not a known spelling: write %s", key, name)
		}
	}
	return nil
}

// parameters are all that some endpoint reads, but for flags, which do not filter.
func parameters() []string {
	return slices.Concat(meetingFilters, []string{"cursor", "destination_url", "team", "status", "settings_access"})
}

// arrayFilters are the filters that may be repeated.
func arrayFilters() []string { return []string{"calendar_invitees_domains", "recorded_by", "teams"} }

// repeatedKey returns the name of a parameter of one value that is given more than
// once, "" when there is none.
func repeatedKey(values url.Values) string {
	for key, vs := range values {
		if name, _, _ := strings.Cut(key, "["); len(vs) > 1 && !slices.Contains(arrayFilters(), name) {
			return key
		}
	}
	return ""
}

// foldedValues returns the values that are not empty as the archive folds addresses and
// domains.
func foldedValues(values []string) []string {
	out := nonEmptyValues(values)
	for i := range out {
		out[i] = api.FoldEmail(out[i])
	}
	return out
}

// nonEmptyValues returns the values that are not empty.
func nonEmptyValues(values []string) []string {
	var out []string
	for _, v := range values {
		if v != "" {
			out = append(out, v)
		}
	}
	return out
}

// positionFields is the position of a page in the form of a cursor.
func positionFields(p mirror.Position) []string {
	return []string{strconv.FormatInt(p.Start, 36), strconv.FormatInt(p.ID, 36)}
}

func parsePosition(fields []string) (p mirror.Position, err error) {
	for i, number := range []*int64{&p.Start, &p.ID} {
		if *number, err = strconv.ParseInt(fields[i], 36, 64); err != nil {
			return p, errCursor
		}
	}
	return p, nil
}
