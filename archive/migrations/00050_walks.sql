-- +goose Up

-- Absence is judged by the numbers of walks and not by times: a clock can be set
-- back, or have been ahead for a while. A query's walks are counted from 1.

-- The latest walk that had begun when a page that showed the meeting was asked for.
ALTER TABLE sightings ADD COLUMN walk INTEGER NOT NULL DEFAULT 0;
DROP INDEX sightings_by_query;
CREATE INDEX sightings_by_query ON sightings (account, query, walk);

CREATE TABLE counted_walks (
  account   TEXT    NOT NULL,
  query     TEXT    NOT NULL,
  begun     INTEGER NOT NULL,           -- the latest that was begun
  completed INTEGER NOT NULL DEFAULT 0, -- the latest that went through without an error
  doubted   INTEGER NOT NULL DEFAULT 0, -- one that lacked too much, until another has gone through; 0: none
  ended_at  INTEGER,                    -- when the latest complete one ended
  PRIMARY KEY (account, query)
) STRICT, WITHOUT ROWID;
INSERT INTO counted_walks (account, query, begun, completed, ended_at) SELECT account, query, 1, 1, ended_at FROM walks;
DROP TABLE walks;
ALTER TABLE counted_walks RENAME TO walks;
