-- +goose Up

-- The number by which a version competes with others, where several accounts were
-- shown the part; 0 where it is read_at. See package merge.
ALTER TABLE revisions ADD COLUMN counts_at INTEGER NOT NULL DEFAULT 0;
