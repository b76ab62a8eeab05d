package archive

import (
	"context"
	"database/sql"
	"fmt"
)

// statements is a transaction that prepares each statement once. Its context
// does not end: SQLite's driver starts a goroutine for every statement under one
// that can, so callers look at theirs between meetings instead.
type statements struct {
	ctx      context.Context
	tx       *sql.Tx
	prepared map[string]*sql.Stmt
}

func newStatements(ctx context.Context, tx *sql.Tx) *statements {
	return &statements{context.WithoutCancel(ctx), tx, map[string]*sql.Stmt{}}
}

func (s *statements) prepare(query string) (*sql.Stmt, error) {
	if stmt, ok := s.prepared[query]; ok {
		return stmt, nil
	}
	stmt, err := s.tx.PrepareContext(s.ctx, query)
	if err != nil {
		return nil, fmt.Errorf("prepare statement: %w", err)
	}
	s.prepared[query] = stmt
	return stmt, nil
}

func (s *statements) exec(query string, args ...any) (sql.Result, error) {
	stmt, err := s.prepare(query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(s.ctx, args...)
}

// scan reads the first row; found is false when there is none.
func (s *statements) scan(query string, args []any, dest ...any) (found bool, err error) {
	stmt, err := s.prepare(query)
	if err != nil {
		return false, err
	}
	err = stmt.QueryRowContext(s.ctx, args...).Scan(dest...)
	if err == sql.ErrNoRows {
		return false, nil
	}
	return err == nil, err
}

// each calls fn for every row.
func (s *statements) each(query string, args []any, fn func(*sql.Rows) error) error {
	stmt, err := s.prepare(query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(s.ctx, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, fn)
}
