-- +goose Up

-- Every delivery that was ever acknowledged. A row outlives its body: the key
-- (account, kind, webhook_id) refuses a repeat for as long as the archive lives.
CREATE TABLE deliveries (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  account      TEXT    NOT NULL CHECK (account <> ''),
  kind         TEXT    NOT NULL CHECK (kind IN ('webhook', 'transcript', 'summary', 'download')),
  webhook_id   TEXT    NOT NULL CHECK (webhook_id <> ''), -- a callback's: the hash of its token
  received_at  INTEGER NOT NULL,
  sent_at      INTEGER NOT NULL DEFAULT 0, -- webhook-timestamp, 0: not said
  recording_id INTEGER NOT NULL DEFAULT 0, -- 0: not known (yet)
  state        TEXT    NOT NULL CHECK (state IN ('received', 'applied', 'quarantined')),
  settled_at   INTEGER NOT NULL DEFAULT 0, -- when it left 'received'
  reason       TEXT    NOT NULL DEFAULT '',
  size         INTEGER NOT NULL,           -- bytes of the body as it was sent
  checksum     INTEGER NOT NULL,           -- xxHash64 of the body as it is kept here
  header       TEXT    NOT NULL DEFAULT '',
  encoding     INTEGER NOT NULL,           -- 0: plain, 1: S2
  body         BLOB                        -- NULL: let go after its time
) STRICT;
CREATE UNIQUE INDEX deliveries_key ON deliveries (account, kind, webhook_id);
CREATE INDEX deliveries_received ON deliveries (id) WHERE state = 'received';
CREATE INDEX deliveries_quarantined ON deliveries (id) WHERE state = 'quarantined';
CREATE INDEX deliveries_kept ON deliveries (settled_at) WHERE state = 'applied' AND body IS NOT NULL;
CREATE INDEX deliveries_recording ON deliveries (recording_id) WHERE recording_id <> 0;

-- Addresses given to the service for one answer each. Only a hash of the token
-- is here: who reads this file cannot send to them.
CREATE TABLE callbacks (
  token_hash   BLOB    PRIMARY KEY,
  account      TEXT    NOT NULL,
  recording_id INTEGER NOT NULL,
  kind         TEXT    NOT NULL CHECK (kind IN ('transcript', 'summary', 'download')),
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX callbacks_expiry ON callbacks (expires_at);

-- Webhooks registered at the service. The row is written before the service is
-- asked ('intent'), and again with its answer before anything else happens: the
-- service gives an id and a secret once and lists neither.
CREATE TABLE registrations (
  intent     INTEGER PRIMARY KEY AUTOINCREMENT,
  account    TEXT    NOT NULL CHECK (account <> ''),
  state      TEXT    NOT NULL CHECK (state IN ('intent', 'active', 'deleting', 'deleted')),
  webhook_id TEXT,                        -- the service's, NULL while it is an intent
  secret     TEXT    NOT NULL DEFAULT '', -- emptied when deleted
  url        TEXT    NOT NULL,
  request    TEXT    NOT NULL DEFAULT '', -- JSON: triggers and include flags
  created_at INTEGER NOT NULL,
  settled_at INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX registrations_id ON registrations (account, webhook_id) WHERE webhook_id IS NOT NULL;
