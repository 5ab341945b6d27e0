-- Which landing was the latest, and what stood there before it, without a look at all rows.
CREATE INDEX compactions_landed ON compactions (conversation, generation) WHERE generation IS NOT NULL;
CREATE INDEX compactions_ended  ON compactions (conversation, ended_with) WHERE ended_with IS NOT NULL;

-- Search: who speaks where.

-- By the terms of their names, as words cuts them.
CREATE TABLE members (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  term         TEXT NOT NULL,
  name         TEXT NOT NULL,
  PRIMARY KEY (conversation, term, name)
) STRICT, WITHOUT ROWID;

-- Memories: an end, a pin, whose they are, who may read them, and a view for those who like SQL.

ALTER TABLE memories ADD COLUMN expires_at     INTEGER;                    -- from then on it is not recalled; NULL: it has no end
ALTER TABLE memories ADD COLUMN pinned         INTEGER NOT NULL DEFAULT 0; -- it neither ends nor fades
ALTER TABLE memories ADD COLUMN reach          TEXT    NOT NULL DEFAULT 'server' CHECK (reach IN ('channel', 'server')); -- 'server': it may be shared where memories are
ALTER TABLE memories ADD COLUMN forgotten_from TEXT    NOT NULL DEFAULT '' CHECK (forgotten_from IN ('', 'active', 'superseded', 'replaced')); -- its state before
CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL;

UPDATE memories SET
  reach = CASE made_by WHEN 'person' THEN 'channel' ELSE 'server' END,
  forgotten_from = CASE WHEN state <> 'forgotten' THEN '' WHEN superseded_by IS NULL THEN 'active' ELSE 'superseded' END;

-- Who may read a conversation, beside those who are in it: '' nobody, as far as is
-- known; 'channel', of a thread, all who may read its channel; 'server', everybody there.
ALTER TABLE conversations ADD COLUMN audience TEXT NOT NULL DEFAULT '' CHECK (audience IN ('', 'channel', 'server'));

-- What people may read with any SQL tool. Its columns stay when the tables change.
CREATE VIEW memories_view AS SELECT
  m.id, c.name AS channel, m.kind, m.content, m.importance,
  m.speaker, m.about, m.made_by AS saved_by,
  CASE WHEN m.state = 'active' AND NOT m.pinned AND m.expires_at <= CAST(strftime('%s', 'now') AS INTEGER) * 1000 THEN 'expired' ELSE m.state END AS state,
  m.pinned, m.confirmed,
  datetime(m.said_at / 1000, 'unixepoch') AS said_at,
  datetime(m.saved_at / 1000, 'unixepoch') AS saved_at,
  datetime(m.expires_at / 1000, 'unixepoch') AS expires_at,
  m.superseded_by, m.compaction,
  (SELECT group_concat('#' || (s.message & 4294967295), ' ') FROM memory_sources s WHERE s.memory = m.id) AS messages
FROM memories m JOIN conversations c ON c.id = m.conversation;

-- What people want gone, and who wants to be left out of memories.

-- Something was deleted of which the files may still hold bytes, see scrub.
CREATE TABLE unscrubbed (
  id INTEGER PRIMARY KEY AUTOINCREMENT
) STRICT;
INSERT INTO unscrubbed (id) SELECT NULL WHERE EXISTS (SELECT 1 FROM messages WHERE changed_with IS NOT NULL) OR EXISTS (SELECT 1 FROM gone)
  OR (SELECT count(*) FROM memories) < (SELECT seq FROM sqlite_sequence WHERE name = 'memories');

-- What models found of what was said: a deletion reaches these copies too.
CREATE INDEX messages_copies ON messages (id) WHERE role = 'tool' AND tool IN ('memory_search', 'recall', 'expand', 'memory_save');

-- Whom memories concern, by the platform's ids.
CREATE TABLE memory_people (
  memory    INTEGER NOT NULL REFERENCES memories (id),
  author_id TEXT    NOT NULL CHECK (author_id <> ''),
  role      TEXT    NOT NULL CHECK (role IN ('said', 'confirmed', 'about')),
  PRIMARY KEY (memory, author_id, role)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_people_author ON memory_people (author_id);
INSERT INTO memory_people (memory, author_id, role)
  SELECT DISTINCT s.memory, m.author_id, iif(m.author = k.speaker, 'said', 'confirmed')
  FROM memory_sources s JOIN messages m ON m.id = s.message JOIN memories k ON k.id = s.memory
  WHERE m.role = 'user' AND m.author_id <> '' AND m.deleted_at IS NULL;
INSERT INTO memory_people (memory, author_id, role)
  SELECT DISTINCT s.memory, m.author_id, 'about' FROM memory_sources s JOIN messages m ON m.id = s.message JOIN memories k ON k.id = s.memory
  WHERE m.role = 'user' AND m.author_id <> '' AND m.deleted_at IS NULL AND m.author = k.about AND k.about <> k.speaker;
CREATE INDEX messages_author ON messages (author_id) WHERE role = 'user';
CREATE INDEX inbox_author    ON inbox (author_id);

-- Who is to be left out of memories.
CREATE TABLE optouts (
  door      TEXT    NOT NULL,
  author_id TEXT    NOT NULL,
  name      TEXT    NOT NULL, -- by which others may speak of them
  made_at   INTEGER NOT NULL,
  PRIMARY KEY (door, author_id)
) STRICT, WITHOUT ROWID;

-- What people want gone that they said and that was kept about them, until it is.
CREATE TABLE erasures (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  author_id    TEXT    NOT NULL CHECK (author_id <> ''),
  before       INTEGER NOT NULL, -- messages from this seq on came later
  upto         INTEGER NOT NULL, -- the newest memory there was
  PRIMARY KEY (conversation, author_id)
) STRICT, WITHOUT ROWID;
