-- +goose Up
-- 1: the person was added with the address; 0: it was given to them later, and its former
-- owner, who was removed, does not enter by it.
ALTER TABLE addresses ADD COLUMN entry INTEGER NOT NULL DEFAULT 0;
UPDATE addresses SET entry = 1 WHERE position = 1;
