-- +goose Up

-- What a file that was fetched is called in the store, noted before it gets
-- there: forgetting the meeting finds it also where a crash came before it was
-- attached.
ALTER TABLE downloads ADD COLUMN sha256 TEXT NOT NULL DEFAULT '';
