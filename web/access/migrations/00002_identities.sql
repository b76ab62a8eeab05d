-- Whom OpenID providers know as which person: by issuer and subject, since a
-- provider can give an address to another person.

-- +goose Up
CREATE TABLE identities (
  issuer    TEXT NOT NULL,
  subject   TEXT NOT NULL,
  person    INTEGER NOT NULL REFERENCES people,
  linked_at INTEGER NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX identities_by_person ON identities (person);
