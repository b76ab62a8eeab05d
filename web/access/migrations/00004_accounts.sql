-- The accounts at the service that people have connected on the page, one for each
-- person. The key that decrypts their secrets is not in the data directory.

-- +goose Up
CREATE TABLE accounts (
  id           INTEGER PRIMARY KEY AUTOINCREMENT, -- of the connection: another one for each secret of a person
  person       INTEGER NOT NULL UNIQUE REFERENCES people,
  address      TEXT NOT NULL,                     -- of the person, under which the service knows them
  base_url     TEXT NOT NULL,                     -- of the service: the secret is sent nowhere else
  kind         TEXT NOT NULL,                     -- key, oauth
  fingerprint  BLOB NOT NULL UNIQUE,              -- of the secret, by the key: finds the same one again
  secret       BLOB NOT NULL,                     -- encrypted
  connected_at INTEGER NOT NULL
) STRICT;
