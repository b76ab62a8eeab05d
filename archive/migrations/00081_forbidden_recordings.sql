-- +goose Up

-- The accounts to which the service forbade the recording (403): JSON array. refused_by has
-- those too that it told of no such recording (404). The rows of before do not tell which, and
-- where there is no recording (422), nothing was forbidden.
ALTER TABLE downloads ADD COLUMN forbidden_to TEXT NOT NULL DEFAULT '[]';
UPDATE downloads SET forbidden_to = refused_by WHERE refused_by <> '[]' AND state <> 'none';
