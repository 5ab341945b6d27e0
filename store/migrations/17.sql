-- Members have the ids of the people with their names, so that a search finds the messages of a person. fillMembers fills the table.
DROP TABLE members;
CREATE TABLE members (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  term         TEXT NOT NULL,
  name         TEXT NOT NULL,
  author_id    TEXT NOT NULL,
  PRIMARY KEY (conversation, term, name, author_id)
) STRICT, WITHOUT ROWID;

-- A search finds the messages of a time.
CREATE INDEX messages_said ON messages (conversation, said_at);

-- Memories become facts: what they state, of which there is one value at a time, and since when.
ALTER TABLE memories ADD COLUMN attribute TEXT NOT NULL DEFAULT '';   -- what it states, if that has one value at a time: "home"; '': it does not
ALTER TABLE memories ADD COLUMN value TEXT NOT NULL DEFAULT '';       -- in a few words: "Lisbon"
ALTER TABLE memories ADD COLUMN slot TEXT NOT NULL DEFAULT '';        -- the folded attribute, after the name of a thing that has it: 'home', 'kiwi: launch date'
ALTER TABLE memories ADD COLUMN since TEXT NOT NULL DEFAULT '';       -- from when it is true, or when it happens: a day, month or year
ALTER TABLE memories ADD COLUMN until TEXT NOT NULL DEFAULT '';       -- to when, as its maker says
ALTER TABLE memories ADD COLUMN also TEXT NOT NULL DEFAULT '';        -- JSON list of words by which somebody may ask for it
ALTER TABLE memories ADD COLUMN by_rule INTEGER NOT NULL DEFAULT 0;   -- superseded because a newer memory fills its slot with another value
ALTER TABLE memories ADD COLUMN in_doubt INTEGER NOT NULL DEFAULT 0;  -- another current memory fills its slot with another value
CREATE INDEX memories_slot ON memories (conversation, slot) WHERE slot <> '';

DROP VIEW memories_view;
CREATE VIEW memories_view AS SELECT
  m.id, c.name AS channel, m.kind, m.content, m.importance,
  m.speaker, m.about, m.made_by AS saved_by,
  CASE WHEN m.state = 'active' AND NOT m.pinned AND m.expires_at <= CAST(strftime('%s', 'now') AS INTEGER) * 1000 THEN 'expired' ELSE m.state END AS state,
  m.pinned, m.confirmed,
  datetime(m.said_at / 1000, 'unixepoch') AS said_at,
  datetime(m.saved_at / 1000, 'unixepoch') AS saved_at,
  datetime(m.expires_at / 1000, 'unixepoch') AS expires_at,
  m.superseded_by, m.compaction,
  (SELECT group_concat('#' || (s.message & 4294967295), ' ') FROM memory_sources s WHERE s.memory = m.id) AS messages,
  m.attribute, m.value, m.since,
  coalesce(nullif(m.until, ''), (SELECT coalesce(nullif(b.since, ''), date(coalesce((SELECT min(t.said_at) FROM memory_sources s
    JOIN messages t ON t.id = s.message WHERE s.memory = b.id AND t.said_at > m.said_at), b.said_at) / 1000, 'unixepoch'))
    FROM memories b WHERE b.id = m.superseded_by AND m.state = 'superseded' AND (b.slot = '' OR b.value <> m.value COLLATE NOCASE)), '') AS until,
  m.in_doubt
FROM memories m JOIN conversations c ON c.id = m.conversation;

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

-- "lives" is a form of "live": the index has one term for "life", too.
UPDATE message_terms AS t SET tf = tf + (SELECT o.tf FROM message_terms o WHERE o.conversation = t.conversation AND o.term = 'life' AND o.seq = t.seq)
  WHERE term = 'live' AND EXISTS (SELECT 1 FROM message_terms o WHERE o.conversation = t.conversation AND o.term = 'life' AND o.seq = t.seq);
UPDATE OR IGNORE message_terms SET term = 'live' WHERE term = 'life';
DELETE FROM message_terms WHERE term = 'life';
UPDATE memory_terms AS t SET tf = tf + (SELECT o.tf FROM memory_terms o WHERE o.conversation = t.conversation AND o.term = 'life' AND o.memory = t.memory)
  WHERE term = 'live' AND EXISTS (SELECT 1 FROM memory_terms o WHERE o.conversation = t.conversation AND o.term = 'life' AND o.memory = t.memory);
UPDATE OR IGNORE memory_terms SET term = 'live' WHERE term = 'life';
DELETE FROM memory_terms WHERE term = 'life';
