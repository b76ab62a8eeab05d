package archive

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"minutebook/internal/sqlite"
)

// ActionQuery selects action items. Zero fields do not restrict.
type ActionQuery struct {
	Viewer      Viewer
	RecordingID int64 // of the meeting; 0 for all
}

// ActionKey is a place in the order of action items: those of the newest meetings first,
// and in each meeting in their order.
type ActionKey struct {
	Key      // of the meeting
	Position int
}

// Key returns the row's place.
func (r ActionRow) Key() ActionKey {
	return ActionKey{Key{r.Start, r.RecordingID}, r.Position}
}

// String writes the place as [ParseActionKey] reads it.
func (k ActionKey) String() string { return fmt.Sprintf("%s-%d", k.Key, k.Position) }

// ParseActionKey reads a place.
func ParseActionKey(text string) (ActionKey, error) {
	at := max(strings.LastIndex(text, "-"), 0)
	meeting, err := ParseKey(text[:at])
	position, err2 := strconv.Atoi(strings.TrimPrefix(text[at:], "-"))
	return ActionKey{meeting, position}, cmp.Or(err, err2)
}

// ActionRow is an action item and the meeting it was agreed in.
type ActionRow struct {
	RecordingID           int64
	Title                 string    // of the meeting
	Start                 time.Time // of the meeting, as List orders it
	Began                 time.Time // of the recording; zero when it is not known
	Position              int       // among the meeting's action items, from 0
	Description           string
	UserGenerated         bool
	Completed             bool
	Offset                time.Duration // into the recording; -1 when it is not known
	Assignee, Email, Team string        // name, address and team; all may be ""
	RecordingPlaybackURL  string
}

// ActionItems lists action items across meetings, those of the newest meetings
// first and in each meeting in their order.
func (a *Archive) ActionItems(ctx context.Context, q ActionQuery) ([]ActionRow, error) {
	where, args, err := a.actionTerms(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("list action items: %w", err)
	}
	var items []ActionRow
	err = sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
		item, err := scanAction(rows)
		items = append(items, item)
		return err
	}, selectActions+`WHERE `+where+`
		ORDER BY m.sort_at DESC, m.recording_id DESC, i.position`, args...)
	if err != nil {
		return nil, fmt.Errorf("list action items: %w", err)
	}
	return items, nil
}

const selectActions = `SELECT i.recording_id, coalesce(nullif(m.title, ''), m.meeting_title),
	m.sort_at, m.recording_start_time, i.position, i.description, i.user_generated, i.completed, i.offset_seconds,
	i.assignee_name, i.assignee_email, i.assignee_team, i.recording_playback_url
	FROM action_items i JOIN meetings m USING (recording_id) `

// scanAction reads a row of selectActions.
func scanAction(rows *sql.Rows) (ActionRow, error) {
	item := ActionRow{Offset: -1}
	var start int64
	var began sql.NullInt64
	var offset sql.NullFloat64
	err := rows.Scan(&item.RecordingID, &item.Title, &start, &began, &item.Position, &item.Description, &item.UserGenerated,
		&item.Completed, &offset, &item.Assignee, &item.Email, &item.Team, &item.RecordingPlaybackURL)
	if offset.Valid {
		item.Offset = time.Duration(offset.Float64 * float64(time.Second))
	}
	item.Start, item.Began = sqlite.Time(start), sqlite.NullTime(began)
	return item, err
}

// actionTerms are the condition on action_items i and meetings m, and its
// arguments.
func (a *Archive) actionTerms(ctx context.Context, q ActionQuery) (where string, args []any, err error) {
	where = `1`
	if q.RecordingID != 0 {
		where += ` AND i.recording_id = ?`
		args = append(args, q.RecordingID)
	}
	term, values, err := a.visibleTerm(ctx, q.Viewer)
	if term != "" {
		where += ` AND ` + term
		args = append(args, values...)
	}
	return where, args, err
}

// ItemKey identifies an action item as the archive has it now.
type ItemKey struct {
	RecordingID int64
	Position    int
}

// ActionItemsAt returns the action items with some keys. It does not ask who sees them.
func (a *Archive) ActionItemsAt(ctx context.Context, keys []ItemKey) (map[ItemKey]ActionRow, error) {
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	found := make(map[ItemKey]ActionRow, len(keys))
	err = sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
		item, err := scanAction(rows)
		found[ItemKey{item.RecordingID, item.Position}] = item
		return err
	}, selectActions+`JOIN json_each(?) k ON i.recording_id = k.value ->> '$.RecordingID' AND i.position = k.value ->> '$.Position'`, string(list))
	if err != nil {
		return nil, fmt.Errorf("read action items: %w", err)
	}
	return found, nil
}

// FindActionItems returns the keys of the action items whose description has all of some
// words. It does not ask who sees them.
func (a *Archive) FindActionItems(ctx context.Context, words []string) (map[ItemKey]bool, error) {
	where, args := "1", []any{}
	for _, word := range words {
		var forms []string
		first, size := utf8.DecodeRuneInString(word)
		for _, form := range []string{word, strings.ToLower(word), strings.ToUpper(word), string(unicode.ToUpper(first)) + strings.ToLower(word[size:])} {
			forms = append(forms, `i.description LIKE ? ESCAPE '\'`) // which folds ASCII alone
			args = append(args, "%"+strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(form)+"%")
		}
		where += ` AND (` + strings.Join(forms, " OR ") + `)`
	}
	found := map[ItemKey]bool{}
	err := sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
		var key ItemKey
		err := rows.Scan(&key.RecordingID, &key.Position)
		found[key] = true
		return err
	}, `SELECT i.recording_id, i.position FROM action_items i WHERE `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("search action items: %w", err)
	}
	return found, nil
}
