-- Meetings that arrived after this place in the change log are notified for a saved search.
-- A search of an earlier version has none until it is looked at.

-- +goose Up
ALTER TABLE saved_searches ADD COLUMN since_epoch TEXT NOT NULL DEFAULT '';
ALTER TABLE saved_searches ADD COLUMN since_seq INTEGER NOT NULL DEFAULT 0;
