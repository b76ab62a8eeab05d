-- When the last failed attempt of a webhook was. Failures a quiet time apart are not one
-- long failure.

-- +goose Up
ALTER TABLE webhooks ADD COLUMN failed_at INTEGER;
