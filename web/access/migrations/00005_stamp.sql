-- +goose Up
-- Another number whenever a way to sign in ended: a sign-in that began before it opens
-- no session after it.
ALTER TABLE people ADD COLUMN stamp INTEGER NOT NULL DEFAULT 0;
