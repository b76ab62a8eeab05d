package notes

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"minutebook/internal/sqlite"
)

// Matches calls add for each note that has all of the words and that a person reads, with
// its meeting, its moment, -1 for one about the whole meeting, and its text. Whether the
// person sees the meetings is the caller's to ask.
func (d *DB) Matches(ctx context.Context, person int64, words string, add func(id int64, at time.Duration, text string)) error {
	match := matchWords(words)
	if match == "" {
		return nil
	}
	err := sqlite.Each(ctx, d.db.R, func(rows *sql.Rows) error {
		var id, at int64
		var text string
		err := rows.Scan(&id, &at, &text)
		if err == nil {
			add(id, fromMillis(at), text)
		}
		return err
	}, `SELECT n.recording_id, n.at, n.text FROM notes n WHERE n.id IN (SELECT rowid FROM note_words WHERE note_words MATCH ?) AND `+readableTerm+`
		ORDER BY n.recording_id, n.at, n.id`, match, person)
	if err != nil {
		return fmt.Errorf("search notes: %w", err)
	}
	return nil
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
