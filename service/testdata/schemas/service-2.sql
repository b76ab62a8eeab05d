PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE access_tokens (
    hash          BLOB PRIMARY KEY,
    connection_id TEXT NOT NULL REFERENCES connections ON DELETE CASCADE,
    expires_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE api_keys (
    id         TEXT PRIMARY KEY,
    hash       BLOB NOT NULL UNIQUE,
    email      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
INSERT INTO "api_keys" VALUES('key_H5EXVaXlgd8SQdD9jq6QV4h1ECG',X'EA5E458E1208BF54B4A3F5FD814B5123292AF3FC4196012E27A857C3C5445E2B','admin@sandbox.example',1795223774156,NULL);
CREATE TABLE app_redirects (
    client_id TEXT NOT NULL REFERENCES apps ON DELETE CASCADE,
    uri       TEXT NOT NULL,
    PRIMARY KEY (client_id, uri)
) STRICT, WITHOUT ROWID;
CREATE TABLE apps (
    client_id   TEXT PRIMARY KEY,
    secret_hash BLOB NOT NULL,
    name        TEXT NOT NULL,
    development INTEGER NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
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
CREATE TABLE connections (
    id         TEXT PRIMARY KEY,
    client_id  TEXT NOT NULL REFERENCES apps ON DELETE CASCADE,
    email      TEXT NOT NULL,
    scope      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
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
    last_error   TEXT NOT NULL DEFAULT '', owner TEXT NOT NULL DEFAULT '',
    UNIQUE (webhook_id, recording_id)
) STRICT;
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
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO "goose_db_version" VALUES(1,0,1,'2026-11-21 01:16:14');
INSERT INTO "goose_db_version" VALUES(2,1,1,'2026-11-21 01:16:14');
INSERT INTO "goose_db_version" VALUES(3,2,1,'2026-11-21 01:16:14');
CREATE TABLE held (
    recording_id INTEGER PRIMARY KEY,
    start        INTEGER NOT NULL,
    body         BLOB NOT NULL
) STRICT;
CREATE TABLE recordings (
    recording_id   INTEGER PRIMARY KEY,
    media          TEXT NOT NULL,
    failure_reason TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE TABLE refresh_tokens (
    hash          BLOB PRIMARY KEY,
    connection_id TEXT NOT NULL REFERENCES connections ON DELETE CASCADE,
    created_at    INTEGER NOT NULL,
    used_at       INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE settings (
    key   TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "settings" VALUES('admin',X'61646D696E4073616E64626F782E6578616D706C65');
INSERT INTO "settings" VALUES('follow',X'7B2245706F6368223A22663436326637343762356334326164386137306361666337222C22536571223A307D');
INSERT INTO "settings" VALUES('sandbox',X'31');
INSERT INTO "settings" VALUES('secret',X'1C365C865C26B0485633493A745ADAD0006B4ED561D64F14DEA8D9879BB41B42');
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
CREATE INDEX api_keys_email ON api_keys (email);
CREATE INDEX connections_email ON connections (email);
CREATE INDEX access_tokens_expiry ON access_tokens (expires_at);
CREATE INDEX refresh_tokens_connection ON refresh_tokens (connection_id);
CREATE INDEX downloads_recording ON downloads (recording_id);
CREATE INDEX downloads_expiry ON downloads (expires_at);
CREATE INDEX webhooks_email ON webhooks (email);
CREATE INDEX deliveries_recording ON deliveries (recording_id);
CREATE INDEX held_order ON held (start, recording_id);
CREATE INDEX deliveries_due ON deliveries (next_at, owner, webhook_id) WHERE state = 'pending';
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('goose_db_version',3);
COMMIT;
