-- +goose Up

-- A version that is the only version of its part competes with none, so it has no counting
-- date and no sharing rank. Both change with the accounts, not only with reads.
UPDATE revisions AS r SET counts_at = 0, sharing_rank = 0 WHERE (counts_at <> 0 OR sharing_rank <> 0)
  AND NOT EXISTS (SELECT 1 FROM revisions x WHERE x.recording_id = r.recording_id AND x.part = r.part AND x.id <> r.id);
