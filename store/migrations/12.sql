-- Requests with long prompts cost more: their usage has rows of its own.
CREATE TABLE usage_anew (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  day          TEXT NOT NULL CHECK (day GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'), -- in time_zone
  kind         TEXT NOT NULL CHECK (kind IN ('turn', 'summary')),
  model        TEXT NOT NULL,
  long         INTEGER NOT NULL CHECK (long IN (0, 1)), -- the prompts were so long that the model cost more
  requests     INTEGER NOT NULL,
  input        INTEGER NOT NULL,
  cached       INTEGER NOT NULL,
  written      INTEGER NOT NULL, -- to the provider's cache
  output       INTEGER NOT NULL,
  PRIMARY KEY (conversation, day, kind, model, long)
) STRICT, WITHOUT ROWID;
INSERT INTO usage_anew SELECT conversation, day, kind, model, 0, requests, input, cached, written, output FROM usage;
DROP TABLE usage;
ALTER TABLE usage_anew RENAME TO usage;
CREATE INDEX usage_day ON usage (day);
