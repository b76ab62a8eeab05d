-- Meetings whose webhooks wait until it is known who sees them: they were
-- delivered before any list showed them. At until, what has not fired is skipped.

-- +goose Up
CREATE TABLE undecided (
    recording_id INTEGER PRIMARY KEY,
    until        INTEGER NOT NULL
) STRICT;
