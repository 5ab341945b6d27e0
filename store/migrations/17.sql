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
