PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO goose_db_version VALUES(1,1,1,'2026-11-26 10:30:57');
INSERT INTO goose_db_version VALUES(2,2,1,'2026-11-26 10:30:57');
INSERT INTO goose_db_version VALUES(3,3,1,'2026-11-26 10:30:57');
INSERT INTO goose_db_version VALUES(4,4,1,'2026-11-26 10:30:57');
INSERT INTO goose_db_version VALUES(5,5,1,'2026-11-26 10:30:57');
CREATE TABLE people (
  id         INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: audit rows name it
  name       TEXT NOT NULL,
  admin      INTEGER NOT NULL,
  password   TEXT,                              -- null: none was set
  created_at INTEGER NOT NULL,
  removed_at INTEGER                            -- null: is a person today
, stamp INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO people VALUES(1,'Maren Okafor',1,'$argon2id$v=19$m=47104,t=1,p=1$i0ZCL95LyXvVPqrtz7Wv8g$NfgUOr0YctpdaUEBFoG2jsRLqcJkFTPn3W2yabAzT9g',1772188802872,NULL,1);
INSERT INTO people VALUES(2,'Priya Raman',0,'$argon2id$v=19$m=47104,t=1,p=1$IQgqJkFjnOmRM9HP9AWqow$qBwLdwZRHdDsf7Cm7PjLq3O3KsBXwKDWsQwZs39qwUE',1772188802878,NULL,1);
INSERT INTO people VALUES(3,'Lucía Ferrer',0,NULL,1772188802882,NULL,0);
INSERT INTO people VALUES(4,'A former colleague',0,NULL,1772188802882,1772188803446,0);
CREATE TABLE addresses (
  person   INTEGER NOT NULL REFERENCES people,
  address  TEXT NOT NULL,                       -- trimmed, in small letters
  position INTEGER NOT NULL,                    -- the lowest is the main address
  ended    INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (person, address)
) STRICT, WITHOUT ROWID;
INSERT INTO addresses VALUES(1,'maren.okafor@tidewell.example',1,0);
INSERT INTO addresses VALUES(2,'priya.raman@tidewell.example',1,0);
INSERT INTO addresses VALUES(2,'priya@old.example',2,0);
INSERT INTO addresses VALUES(3,'lucia.ferrer@tidewell.example',1,0);
INSERT INTO addresses VALUES(4,'former@tidewell.example',1,1);
CREATE TABLE invitations (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  hash       BLOB NOT NULL UNIQUE,
  person     INTEGER NOT NULL REFERENCES people,
  epoch      TEXT NOT NULL,                     -- of the archive; good in no other one
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at    INTEGER                            -- when accepted, or replaced by a newer one
) STRICT;
INSERT INTO invitations VALUES(1,X'f0ae690220babebf11248ab50be6ddd68c5dd2fbc65dc5e6dd9afdc95ccd6531',2,'97f298d55ca81fad46edcea8',1772188803130,1772448003130,1772188803384);
INSERT INTO invitations VALUES(2,X'2ebd8bea9fceb4d38ed83a38d5ee32c5a5636e2b0953500d481ea77810b3e7f7',3,'97f298d55ca81fad46edcea8',1772188803394,1772448003394,NULL);
CREATE TABLE sessions (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  hash       BLOB NOT NULL UNIQUE,
  person     INTEGER NOT NULL REFERENCES people,
  method     TEXT NOT NULL,                     -- password, passkey, oidc
  epoch      TEXT NOT NULL,                     -- of the archive; good in no other one
  created_at INTEGER NOT NULL,
  seen_at    INTEGER NOT NULL,                  -- behind by up to five minutes
  expires_at INTEGER NOT NULL
) STRICT;
INSERT INTO sessions VALUES(1,X'ca0f1b7478b2e752437739951463270e3cd09fea793d13270192bdf516e2e7d9',1,'password','97f298d55ca81fad46edcea8',1772188803395,1772188803395,1779964803395);
CREATE TABLE tokens (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  hash       BLOB NOT NULL UNIQUE,
  person     INTEGER NOT NULL REFERENCES people,
  label      TEXT NOT NULL,
  scopes     TEXT NOT NULL,                     -- read, export, admin; separated by commas
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at    INTEGER,                           -- behind by up to five minutes
  revoked_at INTEGER
) STRICT;
INSERT INTO tokens VALUES(1,X'176d4970500fc2000dfe1df5aadb3295d75155aeea240b7cf08ce4f8825e26f4',1,'statistics','read,export',1772188803402,1803724803402,NULL,NULL);
INSERT INTO tokens VALUES(2,X'82dfee68a697dff97e0ec73edb219499d50007bd225ba9961e8a8f3f8d133f2f',1,'lost laptop','read',1772188803410,1803724803410,NULL,1772188803415);
CREATE TABLE audit (
  seq      INTEGER PRIMARY KEY AUTOINCREMENT,
  at       INTEGER NOT NULL,
  actor    TEXT NOT NULL,                       -- a person's id, or command, owner, system
  kind     TEXT NOT NULL,
  ids      TEXT NOT NULL,                       -- JSON object
  previous BLOB NOT NULL,
  hash     BLOB NOT NULL
) STRICT;
INSERT INTO audit VALUES(1,1772188802872,'command','person.added','{"person":1}',X'0000000000000000000000000000000000000000000000000000000000000000',X'2e3973af55fae89c1215bca26215ef5c531d689771d10347e748c666a6db4eec');
INSERT INTO audit VALUES(2,1772188802872,'command','admin.granted','{"person":1}',X'2e3973af55fae89c1215bca26215ef5c531d689771d10347e748c666a6db4eec',X'41f16fd266b4b56180afedf23ebfbeca8a5a63c61eaaddb26f2138c474cdcfcc');
INSERT INTO audit VALUES(3,1772188802878,'1','person.added','{"person":2}',X'41f16fd266b4b56180afedf23ebfbeca8a5a63c61eaaddb26f2138c474cdcfcc',X'1b0e9751cd31a964668a29721c6545d3a487105ac08d6cdc067098e0e1449d45');
INSERT INTO audit VALUES(4,1772188802882,'1','person.added','{"person":3}',X'1b0e9751cd31a964668a29721c6545d3a487105ac08d6cdc067098e0e1449d45',X'6053a2dca183f5d5aed73296903814f1dacb684a416efed78ffd0f4658f16ea7');
INSERT INTO audit VALUES(5,1772188802882,'1','person.added','{"person":4}',X'6053a2dca183f5d5aed73296903814f1dacb684a416efed78ffd0f4658f16ea7',X'e66df93b0c1d925d400f7f8ec59f593bc82d90e3251930b8dc64f2d5e9910822');
INSERT INTO audit VALUES(6,1772188802883,'1','address.added','{"person":2}',X'e66df93b0c1d925d400f7f8ec59f593bc82d90e3251930b8dc64f2d5e9910822',X'0e53769692d2dcfee63b0ab6b7785b089733f50ea0b3a85ea7a924a05c43caea');
INSERT INTO audit VALUES(7,1772188803127,'1','password.set','{"person":1}',X'0e53769692d2dcfee63b0ab6b7785b089733f50ea0b3a85ea7a924a05c43caea',X'f59d6d254a8084ebf0de109498eeed553bb03971b764b49951069d03b8efe919');
INSERT INTO audit VALUES(8,1772188803130,'1','invitation.made','{"person":2}',X'f59d6d254a8084ebf0de109498eeed553bb03971b764b49951069d03b8efe919',X'f8673fc106d5dcbd3bcfb7cb68c6deb6e601a1d61cf0b23dc84b33fd389fde4f');
INSERT INTO audit VALUES(9,1772188803385,'2','invitation.accepted','{"person":2}',X'f8673fc106d5dcbd3bcfb7cb68c6deb6e601a1d61cf0b23dc84b33fd389fde4f',X'cb27fbeedfa8ca81c7284c7987a4009696402c11fb3792a5faab0b3bab1a75b7');
INSERT INTO audit VALUES(10,1772188803394,'1','invitation.made','{"person":3}',X'cb27fbeedfa8ca81c7284c7987a4009696402c11fb3792a5faab0b3bab1a75b7',X'a0e437135779db415adddcd29106976cecc793d8652e659da21395fb398ef0be');
INSERT INTO audit VALUES(11,1772188803395,'1','sign-in','{"person":1,"session":1,"method":"password"}',X'a0e437135779db415adddcd29106976cecc793d8652e659da21395fb398ef0be',X'7bdafc8da85d579274d34edd7c5425804b169fff4858a328f9c30298feeca40f');
INSERT INTO audit VALUES(12,1772188803402,'1','token.made','{"person":1,"token":1}',X'7bdafc8da85d579274d34edd7c5425804b169fff4858a328f9c30298feeca40f',X'10a30a066c1573a0746183f1fd51f2d3f45c4667746dec3d4c3c8e21f916865c');
INSERT INTO audit VALUES(13,1772188803410,'1','token.made','{"person":1,"token":2}',X'10a30a066c1573a0746183f1fd51f2d3f45c4667746dec3d4c3c8e21f916865c',X'ff55b9c135723e062659bb9bd69863e84527bbb782fc91df3ce2c6bc021b436a');
INSERT INTO audit VALUES(14,1772188803416,'1','token.revoked','{"person":1,"token":2}',X'ff55b9c135723e062659bb9bd69863e84527bbb782fc91df3ce2c6bc021b436a',X'41df32654be530447c4bbad9d38bf1a226757faef4e440335294b779551ca25c');
INSERT INTO audit VALUES(15,1772188803422,'3','identity.linked','{"person":3}',X'41df32654be530447c4bbad9d38bf1a226757faef4e440335294b779551ca25c',X'818f4a3106755a75e3b2827873c6b6f46f2e6b847c9db9f8d2175b2ed31465f2');
INSERT INTO audit VALUES(16,1772188803434,'2','passkey.added','{"person":2}',X'818f4a3106755a75e3b2827873c6b6f46f2e6b847c9db9f8d2175b2ed31465f2',X'c8db5cab7d74a7891f6d9ce8eb273b6545c43211d3e850350c4d6b0cf67d087d');
INSERT INTO audit VALUES(17,1772188803438,'2','account.connected','{"person":2}',X'c8db5cab7d74a7891f6d9ce8eb273b6545c43211d3e850350c4d6b0cf67d087d',X'ddc51c62e6a698fc3f989ace88b411094be6176222d16c35d7c71a8f4120e127');
INSERT INTO audit VALUES(18,1772188803446,'1','person.removed','{"person":4}',X'ddc51c62e6a698fc3f989ace88b411094be6176222d16c35d7c71a8f4120e127',X'6d5c5b007c75a269e52b9297951452b59c7fe435b8957544628a31e0b9d5e116');
CREATE TABLE audit_anchor (
  one  INTEGER PRIMARY KEY CHECK (one = 1),
  seq  INTEGER NOT NULL,
  hash BLOB NOT NULL,
  at   INTEGER NOT NULL                         -- when it was pruned
) STRICT;
CREATE TABLE known_epoch (
  one   INTEGER PRIMARY KEY CHECK (one = 1),
  epoch TEXT NOT NULL
) STRICT;
INSERT INTO known_epoch VALUES(1,'97f298d55ca81fad46edcea8');
CREATE TABLE identities (
  issuer    TEXT NOT NULL,
  subject   TEXT NOT NULL,
  person    INTEGER NOT NULL REFERENCES people,
  linked_at INTEGER NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
INSERT INTO identities VALUES('https://id.tidewell.example','lf-7',3,1772188803422);
CREATE TABLE passkeys (
  id         BLOB PRIMARY KEY,                  -- the credential's, chosen by the device
  person     INTEGER NOT NULL REFERENCES people,
  label      TEXT NOT NULL,
  credential TEXT NOT NULL,                     -- JSON
  created_at INTEGER NOT NULL,
  used_at    INTEGER
) STRICT, WITHOUT ROWID;
INSERT INTO passkeys VALUES(X'706173736b6579206f6620746865206465736b',2,'desk','{"id":"cGFzc2tleSBvZiB0aGUgZGVzaw==","publicKey":"cHVibGlj","attestationType":"none","flags":{"userPresent":false,"userVerified":false,"backupEligible":false,"backupState":false},"authenticator":{},"attestation":{}}',1772188803434,NULL);
CREATE TABLE handles (
  person INTEGER PRIMARY KEY REFERENCES people,
  handle BLOB NOT NULL UNIQUE
) STRICT;
INSERT INTO handles VALUES(2,X'b196e6ef7824fc1034518189ba6466298b155c38eb071e5fb8ca962f5e8524ab');
CREATE TABLE accounts (
  id           INTEGER PRIMARY KEY AUTOINCREMENT, -- of the connection: another one for each secret of a person
  person       INTEGER NOT NULL UNIQUE REFERENCES people,
  address      TEXT NOT NULL,                     -- of the person, under which the service knows them
  base_url     TEXT NOT NULL,                     -- of the service: the secret is sent nowhere else
  kind         TEXT NOT NULL,                     -- key, oauth
  fingerprint  BLOB NOT NULL UNIQUE,              -- of the secret, by the key: finds the same one again
  secret       BLOB NOT NULL,                     -- encrypted
  connected_at INTEGER NOT NULL
) STRICT;
INSERT INTO accounts VALUES(1,2,'priya.raman@tidewell.example','http://127.0.0.1:39589/external/v1','key',X'c73b08b483104e252c5db1c97fce77ec1465c77c5f4271d051cd555c47692ce1',X'9dea8f35377035ec69d61b1e0ed8d658582d4cfcefa18a237939b0e4f75b01a558b463719197d090f8e0b766817c23159336fd0f41337b6ec06b3434d290e0480649fc39671fd7dcc291428400c426aee6deebbe1f542949a0a0004ac44668',1772188803438);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('goose_db_version',5);
INSERT INTO sqlite_sequence VALUES('people',4);
INSERT INTO sqlite_sequence VALUES('audit',18);
INSERT INTO sqlite_sequence VALUES('invitations',2);
INSERT INTO sqlite_sequence VALUES('sessions',1);
INSERT INTO sqlite_sequence VALUES('tokens',2);
INSERT INTO sqlite_sequence VALUES('accounts',1);
CREATE UNIQUE INDEX addresses_in_use ON addresses (address) WHERE ended = 0;
CREATE INDEX invitations_by_person ON invitations (person);
CREATE INDEX sessions_by_person ON sessions (person);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
CREATE INDEX tokens_by_person ON tokens (person);
CREATE INDEX identities_by_person ON identities (person);
CREATE INDEX passkeys_by_person ON passkeys (person);
COMMIT;
