-- Vectors of texts, for search by meaning.
CREATE TABLE encoders (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  model      TEXT NOT NULL CHECK (model <> ''), -- with its server: "nomic-embed-text@localhost:11434/v1"
  length     INTEGER NOT NULL CHECK (length > 0), -- numbers of a vector, as the server sends it
  size       INTEGER NOT NULL CHECK (size BETWEEN 1 AND length), -- numbers of a vector, as it is stored once there is a projection
  projection BLOB,                              -- from length to size numbers; NULL: vectors are stored as they come
  complete   INTEGER NOT NULL DEFAULT 0,        -- every text had its vector at one time
  UNIQUE (model, length, size)
) STRICT;
CREATE TABLE message_vectors (
  message INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
  encoder INTEGER NOT NULL REFERENCES encoders (id),
  vector  BLOB NOT NULL, -- a signed byte for each number; empty: the server refuses the text
  PRIMARY KEY (message, encoder)
) STRICT, WITHOUT ROWID;
CREATE TABLE memory_vectors (
  memory  INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
  encoder INTEGER NOT NULL REFERENCES encoders (id),
  vector  BLOB NOT NULL,
  PRIMARY KEY (memory, encoder)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER message_vectors_text AFTER UPDATE OF text, attachments, deleted_at ON messages
WHEN new.text <> old.text OR new.attachments <> old.attachments OR new.deleted_at IS NOT NULL BEGIN
  DELETE FROM message_vectors WHERE message = old.id;
END;
CREATE TRIGGER memory_vectors_text AFTER UPDATE OF content ON memories WHEN new.content <> old.content BEGIN
  DELETE FROM memory_vectors WHERE memory = old.id;
END;
-- What embeddings were paid for is usage, too.
CREATE TABLE usage_anew (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  day          TEXT NOT NULL CHECK (day GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'), -- in time_zone
  kind         TEXT NOT NULL CHECK (kind IN ('turn', 'summary', 'embedding')),
  model        TEXT NOT NULL,
  long         INTEGER NOT NULL CHECK (long IN (0, 1)), -- the prompts were so long that the model cost more
  requests     INTEGER NOT NULL,
  input        INTEGER NOT NULL,
  cached       INTEGER NOT NULL,
  written      INTEGER NOT NULL, -- to the provider's cache
  output       INTEGER NOT NULL,
  PRIMARY KEY (conversation, day, kind, model, long)
) STRICT, WITHOUT ROWID;
INSERT INTO usage_anew SELECT conversation, day, kind, model, long, requests, input, cached, written, output FROM usage;
DROP TABLE usage;
ALTER TABLE usage_anew RENAME TO usage;
CREATE INDEX usage_day ON usage (day);
