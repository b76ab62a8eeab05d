-- Who may enter and what they did. Times are INTEGER milliseconds UTC. Secrets
-- are kept as their SHA-256, passwords as argon2id.

-- +goose Up
CREATE TABLE people (
  id         INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: audit rows name it
  name       TEXT NOT NULL,
  admin      INTEGER NOT NULL,
  password   TEXT,                              -- null: none was set
  created_at INTEGER NOT NULL,
  removed_at INTEGER                            -- null: is a person today
) STRICT;

-- The addresses of people. Those of a removed person are ended: they are kept for
-- who reads the audit, and can be given to another person.
CREATE TABLE addresses (
  person   INTEGER NOT NULL REFERENCES people,
  address  TEXT NOT NULL,                       -- trimmed, in small letters
  position INTEGER NOT NULL,                    -- the lowest is the main address
  ended    INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (person, address)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX addresses_in_use ON addresses (address) WHERE ended = 0;

CREATE TABLE invitations (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  hash       BLOB NOT NULL UNIQUE,
  person     INTEGER NOT NULL REFERENCES people,
  epoch      TEXT NOT NULL,                     -- of the archive; good in no other one
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at    INTEGER                            -- when accepted, or replaced by a newer one
) STRICT;
CREATE INDEX invitations_by_person ON invitations (person);

CREATE TABLE sessions (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  hash       BLOB NOT NULL UNIQUE,
  person     INTEGER NOT NULL REFERENCES people,
  method     TEXT NOT NULL,                     -- password, passkey, oidc
  epoch      TEXT NOT NULL,                     -- of the archive; good in no other one
  created_at INTEGER NOT NULL,
  seen_at    INTEGER NOT NULL,                  -- behind by up to five minutes
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_by_person ON sessions (person);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

CREATE TABLE tokens (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  hash       BLOB NOT NULL UNIQUE,
  person     INTEGER NOT NULL REFERENCES people,
  label      TEXT NOT NULL,
  scopes     TEXT NOT NULL,                     -- read, export, admin; separated by commas
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at    INTEGER,                           -- behind by up to five minutes
  revoked_at INTEGER
) STRICT;
CREATE INDEX tokens_by_person ON tokens (person);

-- What was done, by whom, with ids only. Each row has the hash of the row before.
CREATE TABLE audit (
  seq      INTEGER PRIMARY KEY AUTOINCREMENT,
  at       INTEGER NOT NULL,
  actor    TEXT NOT NULL,                       -- a person's id, or command, owner, system
  kind     TEXT NOT NULL,
  ids      TEXT NOT NULL,                       -- JSON object
  previous BLOB NOT NULL,
  hash     BLOB NOT NULL
) STRICT;

-- The last row that was pruned, if any: the oldest row of audit follows it.
CREATE TABLE audit_anchor (
  one  INTEGER PRIMARY KEY CHECK (one = 1),
  seq  INTEGER NOT NULL,
  hash BLOB NOT NULL,
  at   INTEGER NOT NULL                         -- when it was pruned
) STRICT;

-- The archive's epoch when this database was last opened: another one means that
-- the data directory was restored from a backup.
CREATE TABLE known_epoch (
  one   INTEGER PRIMARY KEY CHECK (one = 1),
  epoch TEXT NOT NULL
) STRICT;
