-- +goose Up

-- walks.doubted below 0: so many walks have to go through before a meeting that the list then shows
-- has been hidden from what a former account or key was shown. It is -2 when accounts change.
UPDATE walks SET doubted = -2 WHERE doubted = 0;
