-- +goose Up

-- Facts about this archive: its epoch, when it was created.
CREATE TABLE info (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Every differing version of every part that ever arrived. Never updated but
-- for the two dates, which only grow; never deleted but by forget.
CREATE TABLE revisions (
  id           INTEGER PRIMARY KEY,
  recording_id INTEGER NOT NULL,
  part         TEXT    NOT NULL,
  hash         BLOB    NOT NULL,           -- SHA-256 of the canonical JSON
  empty        INTEGER NOT NULL,           -- 1: carries no content
  read_at      INTEGER NOT NULL DEFAULT 0, -- latest read that showed it, 0: none did
  told_at      INTEGER NOT NULL DEFAULT 0  -- latest delivery or import that held it
) STRICT;
CREATE UNIQUE INDEX revisions_by_content ON revisions (recording_id, part, hash);

-- The bytes of a revision, as they arrived. Apart from revisions, so that a
-- re-read that only moves a date does not rewrite them.
CREATE TABLE bodies (
  revision_id INTEGER PRIMARY KEY REFERENCES revisions (id) ON DELETE CASCADE,
  raw_hash    INTEGER NOT NULL, -- first 8 bytes of the SHA-256 of the bytes
  size        INTEGER NOT NULL, -- bytes before compression
  encoding    INTEGER NOT NULL, -- 0: plain, 1: zstd
  body        BLOB    NOT NULL
) STRICT;

-- Which account was shown a revision, by which way, and when first and last.
CREATE TABLE observations (
  revision_id INTEGER NOT NULL REFERENCES revisions (id) ON DELETE CASCADE,
  account     TEXT    NOT NULL,
  source      TEXT    NOT NULL,
  first_at    INTEGER NOT NULL,
  last_at     INTEGER NOT NULL,
  PRIMARY KEY (revision_id, account, source)
) STRICT, WITHOUT ROWID;

-- The current parts. revision_id is null when the part was only ever null.
CREATE TABLE parts (
  recording_id INTEGER NOT NULL,
  part         TEXT    NOT NULL,
  revision_id  INTEGER REFERENCES revisions (id),
  folded       TEXT, -- part "meeting" only: ids of all revisions it is folded of, when several
  PRIMARY KEY (recording_id, part)
) STRICT, WITHOUT ROWID;
CREATE INDEX parts_by_revision ON parts (revision_id);

-- Derived from the current parts: everything from here to crm_matches can be
-- thrown away and is rebuilt from them. Times are milliseconds UTC.
CREATE TABLE meetings (
  recording_id             INTEGER PRIMARY KEY,
  number                   INTEGER NOT NULL UNIQUE, -- by first arrival, from 1
  title                    TEXT NOT NULL DEFAULT '',
  meeting_title            TEXT NOT NULL DEFAULT '',
  meeting_type             TEXT NOT NULL DEFAULT '',
  url                      TEXT NOT NULL DEFAULT '',
  share_url                TEXT NOT NULL DEFAULT '',
  meeting_url              TEXT NOT NULL DEFAULT '',
  transcript_language      TEXT NOT NULL DEFAULT '',
  shared_with              TEXT NOT NULL DEFAULT '',
  calendar_invitees_domains_type TEXT NOT NULL DEFAULT '',
  created_at               INTEGER,
  scheduled_start_time     INTEGER,
  scheduled_end_time       INTEGER,
  recording_start_time     INTEGER,
  recording_end_time       INTEGER,
  recorded_by_name         TEXT NOT NULL DEFAULT '',
  recorded_by_email        TEXT NOT NULL DEFAULT '',
  recorded_by_email_domain TEXT NOT NULL DEFAULT '',
  recorded_by_team         TEXT NOT NULL DEFAULT '',
  has_transcript           INTEGER NOT NULL DEFAULT 0,
  has_summary              INTEGER NOT NULL DEFAULT 0,
  has_action_items         INTEGER NOT NULL DEFAULT 0,
  has_highlights           INTEGER NOT NULL DEFAULT 0,
  has_crm_matches          INTEGER NOT NULL DEFAULT 0,
  has_video                INTEGER NOT NULL DEFAULT 0,
  has_audio                INTEGER NOT NULL DEFAULT 0,
  entries                  INTEGER NOT NULL DEFAULT 0,
  words                    INTEGER NOT NULL DEFAULT 0,
  gone_at                  INTEGER,
  sort_at                  INTEGER NOT NULL GENERATED ALWAYS AS
    (coalesce(recording_start_time, scheduled_start_time, created_at, 0)) STORED
) STRICT;
CREATE INDEX meetings_by_time ON meetings (sort_at DESC, recording_id DESC);

CREATE TABLE speakers (
  id    INTEGER PRIMARY KEY,
  name  TEXT NOT NULL,
  email TEXT NOT NULL,
  UNIQUE (name, email)
) STRICT;

-- The entries of transcripts. id is meetings.number * 2^20 + the position of the
-- entry, so that entries are stored in order and without an index of their own.
-- To be read through the view transcript_entries.
CREATE TABLE entries (
  id             INTEGER PRIMARY KEY,
  offset_seconds REAL    NOT NULL,
  speaker_id     INTEGER NOT NULL REFERENCES speakers (id),
  text           TEXT    NOT NULL
) STRICT;

CREATE VIEW transcript_entries (recording_id, position, offset_seconds, speaker, email, text) AS
  SELECT m.recording_id, e.id & 0xfffff, e.offset_seconds, s.name, s.email, e.text
  FROM meetings m
  JOIN entries e ON e.id BETWEEN m.number << 20 AND (m.number << 20) + 0xfffff
  JOIN speakers s ON s.id = e.speaker_id;

-- Who spoke in which meeting, and how much.
CREATE TABLE meeting_speakers (
  recording_id INTEGER NOT NULL,
  speaker_id   INTEGER NOT NULL REFERENCES speakers (id),
  entries      INTEGER NOT NULL,
  words        INTEGER NOT NULL,
  PRIMARY KEY (recording_id, speaker_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX meeting_speakers_by_speaker ON meeting_speakers (speaker_id);

CREATE TABLE invitees (
  recording_id INTEGER NOT NULL,
  position     INTEGER NOT NULL,
  name         TEXT NOT NULL,
  email        TEXT NOT NULL,
  email_domain TEXT NOT NULL,
  is_external  INTEGER NOT NULL,
  matched_speaker_display_name TEXT NOT NULL,
  PRIMARY KEY (recording_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX invitees_by_email ON invitees (email);

CREATE TABLE summaries (
  recording_id       INTEGER PRIMARY KEY,
  template_name      TEXT NOT NULL,
  markdown_formatted TEXT NOT NULL
) STRICT;

CREATE TABLE action_items (
  recording_id   INTEGER NOT NULL,
  position       INTEGER NOT NULL,
  description    TEXT NOT NULL,
  user_generated INTEGER NOT NULL,
  completed      INTEGER NOT NULL,
  offset_seconds REAL,
  recording_playback_url TEXT NOT NULL,
  assignee_name  TEXT NOT NULL,
  assignee_email TEXT NOT NULL,
  assignee_team  TEXT NOT NULL,
  PRIMARY KEY (recording_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX action_items_by_assignee ON action_items (assignee_email);

CREATE TABLE highlights (
  recording_id  INTEGER NOT NULL,
  position      INTEGER NOT NULL,
  type          TEXT NOT NULL,
  summary       TEXT NOT NULL,
  start_seconds REAL,
  end_seconds   REAL,
  text          TEXT NOT NULL,
  PRIMARY KEY (recording_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE crm_matches (
  recording_id INTEGER NOT NULL,
  position     INTEGER NOT NULL,
  kind         TEXT NOT NULL, -- contact, company, deal, error
  name         TEXT NOT NULL, -- of an error: the reason
  email        TEXT NOT NULL,
  amount       REAL,
  record_url   TEXT NOT NULL,
  PRIMARY KEY (recording_id, position)
) STRICT, WITHOUT ROWID;

-- Which list query of which account showed a meeting. query is '' for the plain list.
CREATE TABLE sightings (
  recording_id INTEGER NOT NULL,
  account      TEXT    NOT NULL,
  query        TEXT    NOT NULL,
  first_at     INTEGER NOT NULL,
  last_at      INTEGER NOT NULL,
  gone_at      INTEGER, -- start of the complete walk that missed it
  PRIMARY KEY (recording_id, account, query)
) STRICT, WITHOUT ROWID;
CREATE INDEX sightings_by_query ON sightings (account, query, last_at);

-- Complete, error-free walks of a query: the last one of each.
CREATE TABLE walks (
  account    TEXT    NOT NULL,
  query      TEXT    NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at   INTEGER NOT NULL,
  PRIMARY KEY (account, query)
) STRICT, WITHOUT ROWID;

-- Every effective change. seq never repeats, not even after deletions.
CREATE TABLE changes (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  recording_id INTEGER NOT NULL,
  kind         TEXT    NOT NULL,
  part         TEXT    NOT NULL,
  at           INTEGER NOT NULL
) STRICT;

-- Small durable state of the rooms above: cursors, budgets, tokens.
CREATE TABLE marks (
  key   TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE failures (
  account      TEXT    NOT NULL,
  class        TEXT    NOT NULL,
  what         TEXT    NOT NULL,
  recording_id INTEGER NOT NULL DEFAULT 0,
  first_at     INTEGER NOT NULL,
  last_at      INTEGER NOT NULL,
  tries        INTEGER NOT NULL,
  resolved_at  INTEGER,
  reason       TEXT    NOT NULL,
  next_try_at  INTEGER,
  PRIMARY KEY (account, class, what)
) STRICT, WITHOUT ROWID;

CREATE TABLE media (
  sha256       TEXT PRIMARY KEY,
  size         INTEGER NOT NULL,
  content_type TEXT    NOT NULL,
  stored_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE attachments (
  recording_id INTEGER NOT NULL,
  kind         TEXT    NOT NULL, -- video, audio
  sha256       TEXT    NOT NULL REFERENCES media (sha256),
  attached_at  INTEGER NOT NULL,
  PRIMARY KEY (recording_id, kind, sha256)
) STRICT, WITHOUT ROWID;
CREATE INDEX attachments_by_media ON attachments (sha256);

-- Meetings that were forgotten: Apply does not bring them back. done_at is null
-- until everything that held something of it has let go.
CREATE TABLE tombstones (
  recording_id INTEGER PRIMARY KEY,
  held_from    INTEGER NOT NULL, -- when it first came
  forgotten_at INTEGER NOT NULL,
  blobs        TEXT    NOT NULL, -- JSON array: recordings to delete with it
  done_at      INTEGER
) STRICT;

-- Backups that were made, to name those that still hold what was forgotten.
CREATE TABLE backups (
  destination TEXT PRIMARY KEY,
  at          INTEGER NOT NULL -- of the last one there
) STRICT, WITHOUT ROWID;

-- What was erased, when, and why. Holds nothing of what was erased but its id.
CREATE TABLE audit (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  at           INTEGER NOT NULL,
  action       TEXT    NOT NULL,
  recording_id INTEGER NOT NULL,
  reason       TEXT    NOT NULL,
  detail       TEXT    NOT NULL
) STRICT;

