package notes

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"minutebook/internal/sqlite"
)

// Matches returns the meetings with a note that has all of the words and that a person
// reads, and the moments of these notes, -1 for one about the whole meeting. Whether the
// person sees the meetings is the caller's to ask.
func (d *DB) Matches(ctx context.Context, person int64, words string) (map[int64][]time.Duration, error) {
	found := map[int64][]time.Duration{}
	match := matchWords(words)
	if match == "" {
		return found, nil
	}
	err := sqlite.Each(ctx, d.db.R, func(rows *sql.Rows) error {
		var id, at int64
		err := rows.Scan(&id, &at)
		found[id] = append(found[id], fromMillis(at))
		return err
	}, `SELECT DISTINCT n.recording_id, n.at FROM notes n WHERE n.id IN (SELECT rowid FROM note_words WHERE note_words MATCH ?) AND `+readableTerm+`
		ORDER BY n.recording_id, n.at`, match, person)
	if err != nil {
		return nil, fmt.Errorf("search notes: %w", err)
	}
	return found, nil
}

// matchWords returns the expression of FTS5 for notes with all of the words, or "".
func matchWords(words string) string {
	var terms []string
	for word := range strings.FieldsSeq(words) {
		plain := strings.TrimRight(word, "*")
		if plain == "" {
			continue
		}
		term := `"` + strings.ReplaceAll(plain, `"`, `""`) + `"`
		if plain != word {
			term += "*"
		}
		terms = append(terms, term)
	}
	return strings.Join(terms, " ")
}
