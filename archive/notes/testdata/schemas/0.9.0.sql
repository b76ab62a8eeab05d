PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO goose_db_version VALUES(1,1,1,'2026-11-26 10:30:58');
INSERT INTO goose_db_version VALUES(2,2,1,'2026-11-26 10:30:58');
CREATE TABLE notes (
  id           INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: addresses name it
  recording_id INTEGER NOT NULL,
  at           INTEGER NOT NULL,                  -- milliseconds into the recording; -1: about the whole meeting
  text         TEXT NOT NULL,
  private      INTEGER NOT NULL,                  -- 1: only its author reads it
  person       INTEGER NOT NULL,                  -- the author
  created_at   INTEGER NOT NULL,
  changed_at   INTEGER NOT NULL
) STRICT;
INSERT INTO notes VALUES(1,400144927,83000,'Fifteen weeks: ask Jonas about the queue.',0,1,1772188803482,1772188803482);
INSERT INTO notes VALUES(2,400144927,-1,'Split it in two: décodage before storage.',1,2,1772188803490,1772188863494);
INSERT INTO notes VALUES(3,469234221,12500,'自動販売機',0,0,1772188863498,1772188863498);
PRAGMA writable_schema=ON;
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table','note_words','note_words',0,'CREATE VIRTUAL TABLE note_words USING fts5(text, content=''notes'', content_rowid=''id'', tokenize=''unicode61 remove_diacritics 2'')');
CREATE TABLE IF NOT EXISTS 'note_words_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO note_words_data VALUES(1,X'030f');
INSERT INTO note_words_data VALUES(10,X'000000020105050005010101020101030101040101050101');
INSERT INTO note_words_data VALUES(137438953473,X'00000047063061626f75740102060202736b01020401076669667465656e01020201056a6f6e617301020501057175657565010208010374686501020701057765656b73010203040a070c0a0a08');
INSERT INTO note_words_data VALUES(274877906945,X'00000004');
INSERT INTO note_words_data VALUES(412316860417,X'0000004607306265666f726502020701086465636f646167650202060102696e020204020174020203010573706c69740202020206746f72616765020208010374776f020205040b0d07060a0b');
INSERT INTO note_words_data VALUES(549755813889,X'000000181030e887aae58b95e8b2a9e5a3b2e6a99f03020204');
INSERT INTO note_words_data VALUES(687194767361,X'00000004');
CREATE TABLE IF NOT EXISTS 'note_words_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
INSERT INTO note_words_idx VALUES(1,X'',2);
INSERT INTO note_words_idx VALUES(2,X'',2);
INSERT INTO note_words_idx VALUES(3,X'',2);
INSERT INTO note_words_idx VALUES(4,X'',2);
INSERT INTO note_words_idx VALUES(5,X'',2);
CREATE TABLE IF NOT EXISTS 'note_words_docsize'(id INTEGER PRIMARY KEY, sz BLOB);
INSERT INTO note_words_docsize VALUES(1,X'07');
INSERT INTO note_words_docsize VALUES(2,X'07');
INSERT INTO note_words_docsize VALUES(3,X'01');
CREATE TABLE IF NOT EXISTS 'note_words_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO note_words_config VALUES('secure-delete',1);
INSERT INTO note_words_config VALUES('version',5);
CREATE TABLE ticks (
  recording_id INTEGER NOT NULL,
  at           INTEGER NOT NULL, -- milliseconds into the recording; -1: unknown
  text         TEXT NOT NULL,    -- the item's description
  person       INTEGER NOT NULL, -- who ticked it off
  ticked_at    INTEGER NOT NULL,
  PRIMARY KEY (recording_id, at, text)
) STRICT, WITHOUT ROWID;
INSERT INTO ticks VALUES(400144927,796000,'Split ingestion: alarms decided before and independent of storage, four weeks (PLAT-870)',2,1772188863502);
CREATE TABLE judgements (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  same      INTEGER NOT NULL, -- 1: one person, 0: not
  person    INTEGER NOT NULL, -- who said so
  judged_at INTEGER NOT NULL
) STRICT;
INSERT INTO judgements VALUES(1,1,2,1772197201319);
INSERT INTO judgements VALUES(2,0,1,1772197201321);
CREATE TABLE judged_names (
  judgement INTEGER NOT NULL REFERENCES judgements ON DELETE CASCADE,
  position  INTEGER NOT NULL, -- the name at 0 is shown for the person
  name      TEXT NOT NULL,    -- an address in lower case, or a name
  PRIMARY KEY (judgement, position)
) STRICT, WITHOUT ROWID;
INSERT INTO judged_names VALUES(1,0,'priya.raman@tidewell.example');
INSERT INTO judged_names VALUES(1,1,'priya@old.example');
INSERT INTO judged_names VALUES(1,2,'Pri Raman');
INSERT INTO judged_names VALUES(2,0,'Lucía Ferrer');
INSERT INTO judged_names VALUES(2,1,'Lucía F.');
CREATE TABLE saved_searches (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  person     INTEGER NOT NULL,
  name       TEXT NOT NULL,
  query      TEXT NOT NULL,
  feed       BLOB UNIQUE,              -- SHA-256 of the secret in the feed's address; null: no feed
  notify     TEXT NOT NULL DEFAULT '', -- https: or mailto: address; '': nobody is notified
  secret     TEXT NOT NULL DEFAULT '', -- whsec_…, signs the notifications
  seen_epoch TEXT NOT NULL,            -- up to here in the change log matches were notified
  seen_seq   INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (person, name)
) STRICT;
INSERT INTO saved_searches VALUES(1,2,'Pilots','pilot OR piloto type:"Customer Call"',X'2a3717ecba3738577459d505b0f96230ca6d07762dafaa6095192d0bf7436f2e','http://127.0.0.1:37457/works','whsec_+GS3navgsjKIKZVJRLAdUZ+gXu4ryS68u1UrE4gfiIU=','97f298d55ca81fad46edcea8',63,1772188863503);
INSERT INTO saved_searches VALUES(2,1,'Money','deal:*',NULL,'','','97f298d55ca81fad46edcea8',63,1772188863506);
CREATE TABLE looked (
  person    INTEGER PRIMARY KEY,
  epoch     TEXT NOT NULL,
  seq       INTEGER NOT NULL,
  looked_at INTEGER NOT NULL
) STRICT;
INSERT INTO looked VALUES(1,'97f298d55ca81fad46edcea8',63,1772188863508);
CREATE TABLE notified (
  search       INTEGER NOT NULL REFERENCES saved_searches ON DELETE CASCADE,
  recording_id INTEGER NOT NULL,
  PRIMARY KEY (search, recording_id)
) STRICT, WITHOUT ROWID;
INSERT INTO notified VALUES(1,601327096);
INSERT INTO notified VALUES(1,772592125);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('goose_db_version',2);
INSERT INTO sqlite_sequence VALUES('notes',4);
INSERT INTO sqlite_sequence VALUES('saved_searches',2);
INSERT INTO sqlite_sequence VALUES('judgements',2);
CREATE INDEX notes_by_meeting ON notes (recording_id, at);
CREATE TRIGGER note_added AFTER INSERT ON notes BEGIN
  INSERT INTO note_words (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER note_erased AFTER DELETE ON notes BEGIN
  INSERT INTO note_words (note_words, rowid, text) VALUES ('delete', old.id, old.text);
END;
CREATE TRIGGER note_changed AFTER UPDATE OF text ON notes BEGIN
  INSERT INTO note_words (note_words, rowid, text) VALUES ('delete', old.id, old.text);
  INSERT INTO note_words (rowid, text) VALUES (new.id, new.text);
END;
CREATE INDEX notified_by_meeting ON notified (recording_id);
PRAGMA writable_schema=OFF;
COMMIT;
