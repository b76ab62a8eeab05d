-- +goose Up

-- When a saved search was last changed, by which one who changes it says how it was read.
ALTER TABLE saved_searches ADD COLUMN changed_at INTEGER NOT NULL DEFAULT 0; -- milliseconds since 1970
UPDATE saved_searches SET changed_at = created_at;
