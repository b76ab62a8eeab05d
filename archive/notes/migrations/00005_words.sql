-- Notes are matched as all other texts are, by the words of package search/text: their own
-- index of words is asked no more.

-- +goose Up
DROP TRIGGER note_added;
DROP TRIGGER note_erased;
DROP TRIGGER note_changed;
DROP TABLE note_words;
