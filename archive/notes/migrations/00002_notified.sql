-- Meetings that were notified for a saved search, so that none is notified twice.

-- +goose Up
CREATE TABLE notified (
  search       INTEGER NOT NULL REFERENCES saved_searches ON DELETE CASCADE,
  recording_id INTEGER NOT NULL,
  PRIMARY KEY (search, recording_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX notified_by_meeting ON notified (recording_id);
