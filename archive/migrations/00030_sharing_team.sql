-- +goose Up

-- The recorder's team that a meeting shared with a single team is shown to: the
-- one that the newest read of this recorder shows, or none.
ALTER TABLE meetings ADD COLUMN sharing_team TEXT NOT NULL DEFAULT '';
UPDATE meetings SET sharing_team = recorded_by_team WHERE recorded_by_team <> '';
