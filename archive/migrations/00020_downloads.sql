-- +goose Up

-- The queue of recordings to fetch: one row a recording, kept when it is done.
-- No link is kept here: a link is a credential, and is asked for again.
CREATE TABLE downloads (
  recording_id INTEGER PRIMARY KEY,
  state        TEXT    NOT NULL,            -- wanted, requested, ready, done, refused, none
  due_at       INTEGER NOT NULL,            -- not before: request, poll or fetch
  account      TEXT    NOT NULL DEFAULT '', -- which one requested it: only that one may read it
  download_id  TEXT    NOT NULL DEFAULT '',
  requested_at INTEGER,
  expires_at   INTEGER,                     -- of the link
  kind         TEXT    NOT NULL DEFAULT '', -- video, audio
  content_type TEXT    NOT NULL DEFAULT '',
  size         INTEGER NOT NULL DEFAULT 0,  -- bytes, as the service says
  validator    TEXT    NOT NULL DEFAULT '', -- of the bytes that are in the partial file
  fetched      INTEGER NOT NULL DEFAULT 0,  -- bytes that are durable in the partial file
  requests     INTEGER NOT NULL DEFAULT 0,
  lapsed       INTEGER NOT NULL DEFAULT 0,  -- links that expired before they were fetched
  failures     INTEGER NOT NULL DEFAULT 0,  -- in a row
  reason       TEXT    NOT NULL DEFAULT '', -- of the last failure or refusal
  refused_by   TEXT    NOT NULL DEFAULT '[]' -- JSON array of accounts
) STRICT;
CREATE INDEX downloads_by_state ON downloads (state, due_at);
