-- The service's own state: credentials, apps, downloads, webhooks and the
-- queue of what is to be sent. Times are INTEGER milliseconds UTC. Every table
-- about a meeting names it in recording_id.

-- +goose Up
CREATE TABLE settings (
    key   TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
    id         TEXT PRIMARY KEY,
    hash       BLOB NOT NULL UNIQUE,
    email      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX api_keys_email ON api_keys (email);

CREATE TABLE apps (
    client_id   TEXT PRIMARY KEY,
    secret_hash BLOB NOT NULL,
    name        TEXT NOT NULL,
    development INTEGER NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE app_redirects (
    client_id TEXT NOT NULL REFERENCES apps ON DELETE CASCADE,
    uri       TEXT NOT NULL,
    PRIMARY KEY (client_id, uri)
) STRICT, WITHOUT ROWID;

CREATE TABLE connections (
    id         TEXT PRIMARY KEY,
    client_id  TEXT NOT NULL REFERENCES apps ON DELETE CASCADE,
    email      TEXT NOT NULL,
    scope      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX connections_email ON connections (email);

CREATE TABLE auth_codes (
    hash             BLOB PRIMARY KEY,
    client_id        TEXT NOT NULL REFERENCES apps ON DELETE CASCADE,
    email            TEXT NOT NULL,
    redirect_uri     TEXT NOT NULL,
    scope            TEXT NOT NULL,
    challenge        TEXT NOT NULL,
    challenge_method TEXT NOT NULL,
    expires_at       INTEGER NOT NULL,
    used_at          INTEGER,
    connection_id    TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE access_tokens (
    hash          BLOB PRIMARY KEY,
    connection_id TEXT NOT NULL REFERENCES connections ON DELETE CASCADE,
    expires_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX access_tokens_expiry ON access_tokens (expires_at);

CREATE TABLE refresh_tokens (
    hash          BLOB PRIMARY KEY,
    connection_id TEXT NOT NULL REFERENCES connections ON DELETE CASCADE,
    created_at    INTEGER NOT NULL,
    used_at       INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX refresh_tokens_connection ON refresh_tokens (connection_id);

CREATE TABLE downloads (
    id              TEXT PRIMARY KEY,
    recording_id    INTEGER NOT NULL,
    credential      TEXT NOT NULL,
    email           TEXT NOT NULL,
    kind            TEXT NOT NULL,
    sha256          TEXT NOT NULL,
    size            INTEGER NOT NULL,
    content_type    TEXT NOT NULL,
    base_url        TEXT NOT NULL,
    destination_url TEXT NOT NULL,
    failure_reason  TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    ready_at        INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX downloads_recording ON downloads (recording_id);
CREATE INDEX downloads_expiry ON downloads (expires_at);

CREATE TABLE webhooks (
    id            TEXT PRIMARY KEY,
    email         TEXT NOT NULL,
    url           TEXT NOT NULL,
    secret        TEXT NOT NULL,
    includes      TEXT NOT NULL,
    triggered_for TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    failing_since INTEGER,
    disabled_at   INTEGER,
    reason        TEXT NOT NULL DEFAULT '',
    deleted_at    INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX webhooks_email ON webhooks (email);

-- What is to be sent, and what was. A webhook's row stays after it has been
-- sent, without its body, since (webhook, recording) is unique for ever.
CREATE TABLE deliveries (
    id           INTEGER PRIMARY KEY,
    kind         TEXT NOT NULL,
    webhook_id   TEXT,
    recording_id INTEGER NOT NULL,
    message_id   TEXT NOT NULL,
    url          TEXT NOT NULL,
    body         BLOB,
    state        TEXT NOT NULL,
    attempts     INTEGER NOT NULL DEFAULT 0,
    created_at   INTEGER NOT NULL,
    next_at      INTEGER NOT NULL,
    last_at      INTEGER,
    last_status  INTEGER,
    last_error   TEXT NOT NULL DEFAULT '',
    UNIQUE (webhook_id, recording_id)
) STRICT;
CREATE INDEX deliveries_due ON deliveries (next_at) WHERE state = 'pending';
CREATE INDEX deliveries_recording ON deliveries (recording_id);

-- Sandbox: loaded meetings kept back until they "finish", newest last.
CREATE TABLE held (
    recording_id INTEGER PRIMARY KEY,
    start        INTEGER NOT NULL,
    body         BLOB NOT NULL
) STRICT;
CREATE INDEX held_order ON held (start, recording_id);

-- Sandbox: what a directory file says about the recording of a meeting.
CREATE TABLE recordings (
    recording_id   INTEGER PRIMARY KEY,
    media          TEXT NOT NULL,
    failure_reason TEXT NOT NULL DEFAULT ''
) STRICT;
