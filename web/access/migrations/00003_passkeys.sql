-- Passkeys: their public keys, as go-webauthn stores them.

-- +goose Up
CREATE TABLE passkeys (
  id         BLOB PRIMARY KEY,                  -- the credential's, chosen by the device
  person     INTEGER NOT NULL REFERENCES people,
  label      TEXT NOT NULL,
  credential TEXT NOT NULL,                     -- JSON
  created_at INTEGER NOT NULL,
  used_at    INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX passkeys_by_person ON passkeys (person);

-- By which number a person's devices know the person: random, so that it says nothing.
CREATE TABLE handles (
  person INTEGER PRIMARY KEY REFERENCES people,
  handle BLOB NOT NULL UNIQUE
) STRICT;
