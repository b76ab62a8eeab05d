-- +goose Up

-- Where several accounts were shown the part "meeting": the rank by which a version
-- decides who sees the meeting, the greatest first; 0 where its read decides. See
-- package merge.
ALTER TABLE revisions ADD COLUMN sharing_rank INTEGER NOT NULL DEFAULT 0;
