-- Several processes may run the bot, see lease.go.

ALTER TABLE conversations ADD COLUMN owner INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;

CREATE TABLE processes (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  name        TEXT NOT NULL,
  connectors  TEXT NOT NULL,
  version     TEXT NOT NULL,
  settings    TEXT NOT NULL,
  started_at  INTEGER NOT NULL,
  lease_until INTEGER NOT NULL,
  draining    INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE events (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  changed      INTEGER NOT NULL
) STRICT;
