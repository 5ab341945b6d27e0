-- Additive: shards of platforms, requests between processes, and what these count together. Processes of before go on to receive and to count
-- for themselves, and later ones claim no shards while they do, see shards.go.

CREATE TABLE shards (
  connector  TEXT NOT NULL,
  number     INTEGER NOT NULL,
  count      INTEGER NOT NULL,
  owner      INTEGER NOT NULL DEFAULT 0,
  session    TEXT NOT NULL DEFAULT '',
  next_start INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (connector, number)
) STRICT;

CREATE TABLE requests (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  process      INTEGER NOT NULL,
  kind         TEXT NOT NULL,
  body         TEXT NOT NULL,
  asked_at     INTEGER NOT NULL,
  taken        INTEGER NOT NULL DEFAULT 0,
  answer       TEXT NOT NULL DEFAULT '',
  outcome      TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE taken_turns (
  author_id TEXT NOT NULL,
  until     INTEGER NOT NULL,
  n         INTEGER NOT NULL,
  PRIMARY KEY (author_id, until)
) STRICT, WITHOUT ROWID;

CREATE TABLE made_calls (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  until        INTEGER NOT NULL,
  n            INTEGER NOT NULL,
  PRIMARY KEY (conversation, until)
) STRICT, WITHOUT ROWID;

-- A search by author reads the newest messages, or the oldest. SQLite's index is the same as before, PostgreSQL's has the id, too.
DROP INDEX messages_author;
CREATE INDEX messages_author ON messages (author_id) WHERE role = 'user';
