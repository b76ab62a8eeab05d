-- +goose Up

-- Where a body is that came while many came: in a file of the folder
-- inbox.db-spill, until it is brought in. Its body here is empty then, and NULL
-- once it was let go.
ALTER TABLE deliveries ADD COLUMN spill      INTEGER NOT NULL DEFAULT 0; -- the file's number, 0: not in one
ALTER TABLE deliveries ADD COLUMN spill_at   INTEGER NOT NULL DEFAULT 0; -- where it begins there
ALTER TABLE deliveries ADD COLUMN spill_size INTEGER NOT NULL DEFAULT 0; -- its bytes there
CREATE INDEX deliveries_spilled ON deliveries (spill, spill_at) WHERE spill <> 0;
