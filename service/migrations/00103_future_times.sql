-- Times since which meetings are new that lay in the future when they were set to a present:
-- that of one webhook or, where webhook_id is '', of the relay. The clock was ahead when the
-- time was written, or it was behind when it was set; then the time counts again.

-- +goose Up
CREATE TABLE future_times (
    webhook_id TEXT NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (webhook_id, at)
) STRICT, WITHOUT ROWID;
