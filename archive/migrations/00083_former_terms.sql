-- +goose Up

-- What the rules of retention go by: the type, the team and the start that a meeting had, by its
-- row or by the newest reads, and has no more. noticed_ran is for how long, in nanoseconds,
-- processes had run with the archive when the rules first ran after the change; null: not yet.
-- A row is deleted when it has been noticed for the time of the notice.
CREATE TABLE former_terms (
  recording_id INTEGER NOT NULL,
  meeting_type TEXT    NOT NULL,
  team         TEXT    NOT NULL,
  start_at     INTEGER NOT NULL, -- in milliseconds; 0: unknown, and no rule deletes the recordings
  noticed_ran  INTEGER,
  PRIMARY KEY (recording_id, meeting_type, team, start_at)
) STRICT, WITHOUT ROWID;

-- An earlier version noted only up to which change of the log the notice had ended, and which
-- meetings only the newest reads kept. All of the others may be waiting, and have another notice.
INSERT OR IGNORE INTO former_terms (recording_id, meeting_type, team, start_at)
SELECT c.recording_id, '', '', 0 FROM marks k JOIN changes c ON c.seq > coalesce(json_extract(CAST(k.value AS TEXT), '$.noticed'), 0)
  WHERE k.key = 'retention-rules' AND c.kind = 'part' AND c.part = 'meeting'
UNION SELECT CAST(j.key AS INTEGER), '', '', 0 FROM marks k, json_each(CAST(k.value AS TEXT), '$.kept') j WHERE k.key = 'retention-rules';
