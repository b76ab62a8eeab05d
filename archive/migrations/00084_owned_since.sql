-- +goose Up

-- Since when an account is its person's, whatever credentials the person has had: a recording that
-- was requested before is another person's download. 0: for ever.
ALTER TABLE accounts ADD COLUMN owned_since INTEGER NOT NULL DEFAULT 0;
UPDATE accounts SET owned_since = since;
