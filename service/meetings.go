package service

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/service/fault"
	"minutebook/service/mirror"
)

// errOAuthContent is the service's own text for 5.7.
var errOAuthContent = badRequest("OAuth users are not allowed to include summary or transcript in this request. " +
	"Please use /recordings endpoint instead.")

// getMeetings is GET /meetings (4.1).
func (s *Service) getMeetings(w http.ResponseWriter, r *http.Request, c caller) error {
	q, err := parseMeetingsQuery(r.URL.Query())
	if err != nil {
		return err
	}
	if c.oauth && q.asksContent() {
		return errOAuthContent
	}
	after, err := s.openCursor(q, c)
	if err != nil {
		return err
	}
	if after != nil && s.faults.Roll(fault.Cursor, fault.Key(r)) {
		return errCursor
	}
	page := s.mirror.Page(c.email, &q.Query, after)
	ids := page.IDs
	if after != nil && s.faults.Roll(fault.Repeat, fault.Key(r)) {
		if s.mirror.Shows(after.ID, c.email) {
			ids = append([]int64{after.ID}, ids...)
		}
	}
	next := "null"
	if page.More {
		next = `"` + s.cursors.seal("meetings", c.id, q.filters, positionFields(page.Last)...) + `"`
	}
	buffer := s.pages.Get().(*[]byte)
	defer func() {
		if cap(*buffer) <= maxPooled {
			s.pages.Put(buffer)
		}
	}()
	*buffer, err = s.compose(r.Context(), (*buffer)[:0], c.email, ids, q.include, next)
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, *buffer)
	return nil
}

// openCursor returns the position of a query's cursor, nil for the first page.
func (s *Service) openCursor(q meetingsQuery, c caller) (*mirror.Position, error) {
	if q.cursor == "" {
		return nil, nil
	}
	fields, err := s.cursors.open(q.cursor, "meetings", c.id, q.filters, 2)
	if err != nil {
		return nil, err
	}
	p, err := parsePosition(fields)
	return &p, err
}

// maxPooled bounds the buffers that are kept for the next page.
const maxPooled = 4 << 20

// compose appends the list of 2.1 to body, with the parts asked for of each
// meeting, byte for byte. One that was forgotten since the page was found, or whose own part is
// damaged, is left out; damaged content is null, as if it were not there yet.
func (s *Service) compose(ctx context.Context, body []byte, email string, ids []int64, include []api.Part, next string) ([]byte, error) {
	byMeeting, err := s.archive.PartsOfMany(ctx, ids, append([]api.Part{api.PartMeeting}, include...))
	damaged := errors.Is(err, archive.ErrUnreadable)
	if damaged {
		s.log.Warn().Err(err).Msg("a list lacks damaged parts")
	} else if err != nil {
		return body, err
	}
	if slices.Contains(include, api.PartCRM) {
		if err := s.keepOwnCRM(ctx, email, byMeeting); err != nil {
			return body, err
		}
	}
	body = slices.Grow(body, totalSize(byMeeting)+2048*len(ids))
	body = append(body, `{"limit":10,"next_cursor":`...)
	body = append(body, next...)
	body = append(body, `,"items":[`...)
	hasContent := slices.Contains(include, api.PartTranscript) || slices.Contains(include, api.PartSummary)
	empty := len(body)
	for _, id := range ids {
		parts := byMeeting[id]
		if parts == nil { // nothing asked for is known of it, or it was forgotten
			_, err := s.archive.Row(ctx, id)
			if damaged || errors.Is(err, archive.ErrNotFound) || errors.Is(err, archive.ErrForgotten) {
				continue
			}
			if err != nil {
				return body, err
			}
		}
		if hasContent && s.faults.LateInList(id) {
			delete(parts, api.PartTranscript)
			delete(parts, api.PartSummary)
		}
		if len(body) > empty {
			body = append(body, ',')
		}
		if body, err = s.strict.AppendMeeting(body, id, parts, include); err != nil {
			return body, err
		}
	}
	return append(body, `]}`...), nil
}

// keepOwnCRM replaces the CRM matches of meetings by those that a person may see
// (2.2), null where there are none.
func (s *Service) keepOwnCRM(ctx context.Context, email string, byMeeting map[int64]map[api.Part]json.RawMessage) error {
	ids := slices.Collect(maps.Keys(byMeeting))
	own, err := s.archive.CRMFor(ctx, archive.ViewerWith(email), ids)
	if err != nil {
		return err
	}
	for id, parts := range byMeeting {
		parts[api.PartCRM] = own[id]
	}
	return nil
}

// totalSize is the size of parts in bytes.
func totalSize(byMeeting map[int64]map[api.Part]json.RawMessage) (size int) {
	for _, parts := range byMeeting {
		for _, raw := range parts {
			size += len(raw)
		}
	}
	return size
}
