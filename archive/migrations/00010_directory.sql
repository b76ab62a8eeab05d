-- The organisation as its accounts show it, and who may see which meeting.
-- account says which account told it; 'local' is what was said here and wins.
-- E-mail addresses are kept in lower case. Times are milliseconds UTC.

-- +goose Up
CREATE TABLE meeting_types (
  account    TEXT NOT NULL,
  name       TEXT NOT NULL,
  status     TEXT NOT NULL, -- active, inactive
  created_at INTEGER,
  PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE teams (
  account    TEXT NOT NULL,
  name       TEXT NOT NULL,
  created_at INTEGER,
  PRIMARY KEY (account, name)
) STRICT, WITHOUT ROWID;

-- team is '' where the account was told of members without their team.
CREATE TABLE team_members (
  account    TEXT NOT NULL,
  team       TEXT NOT NULL,
  email      TEXT NOT NULL,
  name       TEXT NOT NULL,
  created_at INTEGER,
  PRIMARY KEY (account, team, email)
) STRICT, WITHOUT ROWID;
CREATE INDEX team_members_by_email ON team_members (email);

CREATE TABLE users (
  account        TEXT NOT NULL,
  email          TEXT NOT NULL,
  name           TEXT,
  status         TEXT NOT NULL, -- active, deactivated, invited
  created_at     INTEGER,
  settings_level TEXT NOT NULL, -- '' where permissions are absent
  settings_teams TEXT NOT NULL, -- JSON array of team names
  view_level     TEXT NOT NULL,
  view_teams     TEXT NOT NULL, -- JSON array of team names
  PRIMARY KEY (account, email)
) STRICT, WITHOUT ROWID;
CREATE INDEX users_by_email ON users (email);

-- Whose account an account is: what it sees, that person sees.
CREATE TABLE account_people (
  account TEXT PRIMARY KEY,
  email   TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX account_people_by_email ON account_people (email);

-- Explicit shares. principal is user:EMAIL, team:NAME or everyone.
CREATE TABLE shares (
  recording_id INTEGER NOT NULL,
  principal    TEXT NOT NULL,
  level        TEXT NOT NULL, -- limited, standard, admin
  PRIMARY KEY (recording_id, principal)
) STRICT, WITHOUT ROWID;
CREATE INDEX shares_by_principal ON shares (principal, recording_id);
