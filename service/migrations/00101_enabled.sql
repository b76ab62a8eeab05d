-- When a person last enabled a webhook again. Meetings recorded before do not fire it.

-- +goose Up
ALTER TABLE webhooks ADD COLUMN enabled_at INTEGER;
