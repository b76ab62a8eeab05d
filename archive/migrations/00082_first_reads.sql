-- +goose Up

-- When each list query was first read for each holder of an account, whether it showed
-- something or nothing. Forgetting keeps it.
CREATE TABLE first_reads (
  account TEXT    NOT NULL,
  query   TEXT    NOT NULL,
  holder  INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  PRIMARY KEY (account, query, holder)
) STRICT, WITHOUT ROWID;

-- For the present holders, as far as it is known: when the list first showed something that
-- is still here, and not before the holder came, or else when its last complete walk ended. A walk
-- that ended before the holder came was of another holder: perhaps the list is not read since.
INSERT INTO first_reads (account, query, holder, at)
SELECT l.account, l.query, coalesce(a.holder, 1), max(min(l.at), iif(a.holder > 1, a.since, 0)) FROM
  (SELECT account, query, holder, first_at AS at FROM sightings
    UNION ALL SELECT account, query, NULL, ended_at FROM walks WHERE ended_at IS NOT NULL) l
  LEFT JOIN accounts a ON a.name = l.account
WHERE iif(l.holder IS NULL, a.holder IS NULL OR a.holder = 1 OR l.at >= a.since, l.holder = coalesce(a.holder, 1))
GROUP BY l.account, l.query;
