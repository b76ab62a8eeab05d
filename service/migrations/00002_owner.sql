-- Whose each delivery is, so that one person's endpoints do not hold up those
-- of others, and an index that says what is due without reading a row.

-- +goose Up
ALTER TABLE deliveries ADD COLUMN owner TEXT NOT NULL DEFAULT '';
UPDATE deliveries SET owner = coalesce((SELECT email FROM webhooks w WHERE w.id = deliveries.webhook_id), '');
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due ON deliveries (next_at, owner, webhook_id) WHERE state = 'pending';
