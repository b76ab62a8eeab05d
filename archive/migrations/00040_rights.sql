-- Whose an account is and which of its list queries are still read, so that a
-- right ends with what gave it, and which meetings were recorded outside the
-- organisation.

-- +goose Up

-- The accounts that were ever configured. An account passes from one holder to
-- the next when another person's address or another credential stands there;
-- what it was shown before is the earlier holder's.
CREATE TABLE accounts (
  name       TEXT PRIMARY KEY,
  holder     INTEGER NOT NULL, -- counted from 1
  email      TEXT    NOT NULL, -- whose it is, in lower case; '': never told
  credential TEXT    NOT NULL, -- a digest that differs when the credential does
  since      INTEGER NOT NULL, -- when this holder was first seen here
  left_at    INTEGER           -- when it left the configuration; null: it is there
) STRICT, WITHOUT ROWID;

-- The list queries that ever showed a meeting, and until when they are read.
CREATE TABLE watches (
  account  TEXT NOT NULL,
  query    TEXT NOT NULL, -- '': the plain list
  ended_at INTEGER,       -- when it left the configuration; null: it is read
  PRIMARY KEY (account, query)
) STRICT, WITHOUT ROWID;
INSERT INTO watches (account, query) SELECT DISTINCT account, query FROM sightings;

-- In which order the lists of the directory were last read: rank rises.
CREATE TABLE directory_lists (
  account TEXT    NOT NULL,
  list    TEXT    NOT NULL, -- users
  rank    INTEGER NOT NULL,
  PRIMARY KEY (account, list)
) STRICT, WITHOUT ROWID;

-- Which holder of the account was shown it.
ALTER TABLE sightings ADD COLUMN holder INTEGER NOT NULL DEFAULT 1;
ALTER TABLE observations ADD COLUMN holder INTEGER NOT NULL DEFAULT 1;

-- outside: 1 where the recorder is none of the organisation, as far as is known.
ALTER TABLE meetings ADD COLUMN recorder TEXT NOT NULL GENERATED ALWAYS AS (lower(trim(recorded_by_email))) VIRTUAL;
ALTER TABLE meetings ADD COLUMN outside INTEGER NOT NULL DEFAULT 1;
CREATE INDEX meetings_by_recorder ON meetings (recorder, outside);

UPDATE meetings AS m SET outside = NOT CASE WHEN EXISTS (SELECT 1 FROM watches WHERE query = '')
  THEN EXISTS (SELECT 1 FROM sightings s WHERE s.recording_id = m.recording_id AND s.query = '')
    OR m.recorder <> '' AND EXISTS (SELECT 1 FROM meetings x JOIN sightings s USING (recording_id)
      WHERE x.recorder = m.recorder AND s.query = '')
  ELSE m.recorder <> '' AND (EXISTS (SELECT 1 FROM users WHERE email = m.recorder)
    OR EXISTS (SELECT 1 FROM team_members WHERE email = m.recorder)
    OR EXISTS (SELECT 1 FROM account_people WHERE email = m.recorder))
  END;
