-- Additive: what people have used today. Processes of before do not count it.

CREATE TABLE person_usage (
  author_id TEXT NOT NULL CHECK (author_id <> ''),
  day       TEXT NOT NULL CHECK (day GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
  model     TEXT NOT NULL,
  long      INTEGER NOT NULL CHECK (long IN (0, 1)),
  input     INTEGER NOT NULL,
  cached    INTEGER NOT NULL,
  written   INTEGER NOT NULL,
  output    INTEGER NOT NULL,
  told      INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (author_id, day, model, long)
) STRICT, WITHOUT ROWID;
