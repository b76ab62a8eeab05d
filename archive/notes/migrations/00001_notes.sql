-- What people add to the archive. Times are INTEGER milliseconds UTC. person is the id
-- of a person of access.db; 0 is the owner of an archive without sign-in.

-- +goose Up
CREATE TABLE notes (
  id           INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: addresses name it
  recording_id INTEGER NOT NULL,
  at           INTEGER NOT NULL,                  -- milliseconds into the recording; -1: about the whole meeting
  text         TEXT NOT NULL,
  private      INTEGER NOT NULL,                  -- 1: only its author reads it
  person       INTEGER NOT NULL,                  -- the author
  created_at   INTEGER NOT NULL,
  changed_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX notes_by_meeting ON notes (recording_id, at);

-- secure-delete removes the words of an erased note from the index at once.
CREATE VIRTUAL TABLE note_words USING fts5(text, content='notes', content_rowid='id', tokenize='unicode61 remove_diacritics 2');
INSERT INTO note_words (note_words, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER note_added AFTER INSERT ON notes BEGIN
  INSERT INTO note_words (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER note_erased AFTER DELETE ON notes BEGIN
  INSERT INTO note_words (note_words, rowid, text) VALUES ('delete', old.id, old.text);
END;
CREATE TRIGGER note_changed AFTER UPDATE OF text ON notes BEGIN
  INSERT INTO note_words (note_words, rowid, text) VALUES ('delete', old.id, old.text);
  INSERT INTO note_words (rowid, text) VALUES (new.id, new.text);
END;

-- Action items that were done here. The service gives them no id.
CREATE TABLE ticks (
  recording_id INTEGER NOT NULL,
  at           INTEGER NOT NULL, -- milliseconds into the recording; -1: unknown
  text         TEXT NOT NULL,    -- the item's description
  person       INTEGER NOT NULL, -- who ticked it off
  ticked_at    INTEGER NOT NULL,
  PRIMARY KEY (recording_id, at, text)
) STRICT, WITHOUT ROWID;

-- A judgement that some names and addresses are one person, or that two are not.
CREATE TABLE judgements (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  same      INTEGER NOT NULL, -- 1: one person, 0: not
  person    INTEGER NOT NULL, -- who said so
  judged_at INTEGER NOT NULL
) STRICT;
CREATE TABLE judged_names (
  judgement INTEGER NOT NULL REFERENCES judgements ON DELETE CASCADE,
  position  INTEGER NOT NULL, -- the name at 0 is shown for the person
  name      TEXT NOT NULL,    -- an address in lower case, or a name
  PRIMARY KEY (judgement, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE saved_searches (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  person     INTEGER NOT NULL,
  name       TEXT NOT NULL,
  query      TEXT NOT NULL,
  feed       BLOB UNIQUE,              -- SHA-256 of the secret in the feed's address; null: no feed
  notify     TEXT NOT NULL DEFAULT '', -- https: or mailto: address; '': nobody is notified
  secret     TEXT NOT NULL DEFAULT '', -- whsec_…, signs the notifications
  seen_epoch TEXT NOT NULL,            -- up to here in the change log matches were notified
  seen_seq   INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (person, name)
) STRICT;

-- Up to where in the change log a person has looked at what arrived.
CREATE TABLE looked (
  person    INTEGER PRIMARY KEY,
  epoch     TEXT NOT NULL,
  seq       INTEGER NOT NULL,
  looked_at INTEGER NOT NULL
) STRICT;
