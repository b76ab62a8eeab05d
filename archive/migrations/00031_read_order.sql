-- +goose Up

-- Which reads are newer is decided by a number that was given at their sending
-- and is never less than an earlier one, whatever the clock says: revisions.read_at
-- is that of the latest read. Dates stay what the clock said. Until now both were
-- the same.
ALTER TABLE observations ADD COLUMN first_order INTEGER NOT NULL DEFAULT 0;
ALTER TABLE observations ADD COLUMN last_order  INTEGER NOT NULL DEFAULT 0;
UPDATE observations SET first_order = first_at, last_order = last_at;
INSERT INTO info (name, value) SELECT 'read_order', CAST(coalesce(max(read_at), 0) AS TEXT) FROM revisions;
