-- Times since which meetings are new that lay in the future, and the present that counts instead
-- of each while it does: of a webhook or, where webhook_id is '', of the relay. The clock was ahead
-- when the time was written, or behind when it lay in the future; then the time counts again.

-- +goose Up
CREATE TABLE future_times (
    webhook_id TEXT NOT NULL,
    at         INTEGER NOT NULL,
    set_to     INTEGER NOT NULL,
    PRIMARY KEY (webhook_id, at)
) STRICT, WITHOUT ROWID;
