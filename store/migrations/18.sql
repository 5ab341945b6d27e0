-- Copies of vectors in memory are out of date when one was deleted, by whatever path.
ALTER TABLE conversations ADD COLUMN vectors_deleted INTEGER NOT NULL DEFAULT 0; -- vectors of messages that were deleted: copies of them in memory are out of date
CREATE TRIGGER message_vectors_deleted AFTER DELETE ON message_vectors BEGIN
  UPDATE conversations SET vectors_deleted = vectors_deleted + 1 WHERE id = old.message >> 32;
END;

-- A message may support the text of a memory, and not what the memory states in its fields.
ALTER TABLE memory_sources ADD COLUMN fact INTEGER NOT NULL DEFAULT 1; -- it says what the memory states in its fields, too

-- A slot may have thousands of values, of which a new one needs those that are current, and the newest.
DROP INDEX memories_slot;
CREATE INDEX memories_slot ON memories (conversation, slot, state, since) WHERE slot <> '';

-- What is true of a memory may change as time passes.
DROP VIEW memories_view;
CREATE VIEW memories_view AS WITH
today (day) AS (SELECT date('now', 'localtime')),
states AS (SELECT m.*,
  CASE WHEN state <> 'active' THEN state
    WHEN EXISTS (SELECT 1 FROM memories f WHERE f.id = m.superseded_by AND f.since <= substr(day, 1, length(f.since))) THEN 'superseded'
    WHEN NOT pinned AND expires_at <= CAST(strftime('%s', 'now') AS INTEGER) * 1000 THEN 'expired'
    WHEN slot <> '' AND until <> '' AND until < substr(day, 1, length(until)) THEN 'expired'
    ELSE state END AS is_now,
  slot <> '' AND since > substr(day, 1, length(since)) AND instr(value, substr(since, 1, 4)) = 0 AS upcoming
  FROM memories m, today)
SELECT
  m.id, c.name AS channel, m.kind, m.content, m.importance,
  m.speaker, m.about, m.made_by AS saved_by, m.is_now AS state,
  m.pinned, m.confirmed,
  datetime(m.said_at / 1000, 'unixepoch') AS said_at,
  datetime(m.saved_at / 1000, 'unixepoch') AS saved_at,
  datetime(m.expires_at / 1000, 'unixepoch') AS expires_at,
  m.superseded_by, m.compaction,
  (SELECT group_concat('#' || (s.message & 4294967295), ' ') FROM memory_sources s WHERE s.memory = m.id) AS messages,
  m.attribute, m.value, m.since,
  coalesce(nullif(m.until, ''), (SELECT coalesce(nullif(b.since, ''), date(coalesce((SELECT min(t.said_at) FROM memory_sources s
    JOIN messages t ON t.id = s.message WHERE s.memory = b.id AND t.said_at > m.said_at), b.said_at) / 1000, 'unixepoch'))
    FROM memories b WHERE b.id = m.superseded_by AND m.state IN ('active', 'superseded') AND (b.slot = '' OR b.value <> m.value COLLATE NOCASE)), '') AS until,
  m.in_doubt <> 0 AND m.is_now = 'active' AND NOT m.upcoming AND EXISTS (SELECT 1 FROM states r WHERE r.conversation = m.conversation AND r.slot = m.slot
    AND r.in_doubt = m.in_doubt AND r.value <> m.value COLLATE NOCASE AND r.is_now = 'active' AND NOT r.upcoming) AS in_doubt
FROM states m JOIN conversations c ON c.id = m.conversation;
