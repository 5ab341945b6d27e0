-- Additive: what one process asks the owner of a conversation to do, see requests.go.

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
