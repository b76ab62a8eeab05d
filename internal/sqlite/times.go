package sqlite

import (
	"database/sql"
	"time"
)

// Time returns the time of a column of milliseconds, in UTC.
func Time(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// NullTime returns the time of a nullable column; null is the zero time.
func NullTime(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return Time(ms.Int64)
}

// Millis is the reverse of [NullTime]: a zero time is null.
func Millis(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: !t.IsZero()}
}
