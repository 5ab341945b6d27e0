-- Copies of vectors in memory are out of date when one was deleted.
ALTER TABLE conversations ADD COLUMN vectors_deleted INTEGER NOT NULL DEFAULT 0; -- vectors of messages that were deleted: copies of them in memory are out of date

-- A message may support the text of a memory, and not what the memory states in its fields.
ALTER TABLE memory_sources ADD COLUMN fact INTEGER NOT NULL DEFAULT 1; -- it says what the memory states in its fields, too

-- A slot may have thousands of values, of which a new one needs those that are current, and the newest.
DROP INDEX memories_slot;
CREATE INDEX memories_slot ON memories (conversation, slot, state, since) WHERE slot <> '';

-- The store does itself what triggers did.
DROP TRIGGER session_row_added;
DROP TRIGGER session_row_changed;
DROP TRIGGER conversations_head;
DROP TRIGGER message_vectors_text;
DROP TRIGGER memory_vectors_text;

-- What is true of a memory may change as time passes; and the views use only functions that PostgreSQL can have, too.
DROP VIEW memories_view;
CREATE VIEW memories_view AS WITH
today (day) AS (SELECT date('now', 'localtime')),
states AS (SELECT m.*,
  CASE WHEN state <> 'active' THEN state
    WHEN EXISTS (SELECT 1 FROM memories f WHERE f.id = m.superseded_by AND f.since <= substr(day, 1, length(f.since))) THEN 'superseded'
    WHEN pinned = 0 AND expires_at <= unixepoch() * 1000 THEN 'expired'
    WHEN slot <> '' AND until <> '' AND until < substr(day, 1, length(until)) THEN 'expired'
    ELSE state END AS is_now,
  CASE WHEN slot <> '' AND since > substr(day, 1, length(since)) AND instr(value, substr(since, 1, 4)) = 0 THEN 1 ELSE 0 END AS upcoming
  FROM memories m, today)
SELECT
  m.id, c.name AS channel, m.kind, m.content, m.importance,
  m.speaker, m.about, m.made_by AS saved_by, m.is_now AS state,
  m.pinned, m.confirmed,
  datetime(m.said_at / 1000, 'unixepoch') AS said_at,
  datetime(m.saved_at / 1000, 'unixepoch') AS saved_at,
  datetime(m.expires_at / 1000, 'unixepoch') AS expires_at,
  m.superseded_by, m.compaction,
  (SELECT string_agg('#' || (s.message & 4294967295), ' ' ORDER BY s.message) FROM memory_sources s WHERE s.memory = m.id) AS messages,
  m.attribute, m.value, m.since,
  coalesce(nullif(m.until, ''), (SELECT coalesce(nullif(b.since, ''), date(coalesce((SELECT min(t.said_at) FROM memory_sources s
    JOIN messages t ON t.id = s.message WHERE s.memory = b.id AND t.said_at > m.said_at), b.said_at) / 1000, 'unixepoch'))
    FROM memories b WHERE b.id = m.superseded_by AND m.state IN ('active', 'superseded') AND (b.slot = '' OR lower(b.value) <> lower(m.value))), '') AS until,
  CASE WHEN m.in_doubt <> 0 AND m.is_now = 'active' AND m.upcoming = 0 AND EXISTS (SELECT 1 FROM states r WHERE r.conversation = m.conversation AND r.slot = m.slot
    AND r.in_doubt = m.in_doubt AND lower(r.value) <> lower(m.value) AND r.is_now = 'active' AND r.upcoming = 0) THEN 1 ELSE 0 END AS in_doubt
FROM states m JOIN conversations c ON c.id = m.conversation;

DROP VIEW compactions_view;
CREATE VIEW compactions_view AS SELECT
  k.id, c.name AS channel, k.trigger, k.kind, k.state, k.level, k.from_seq, k.to_seq, k.messages,
  k.before_tokens, k.after_tokens, k.tokens AS summary_tokens, k.made_by, k.model,
  CASE WHEN k.ended_at IS NOT NULL THEN CAST(k.ended_at - k.created_at AS DOUBLE PRECISION) / 1000 END AS seconds,
  datetime(k.created_at / 1000, 'unixepoch') AS started_at,
  datetime(k.applied_at / 1000, 'unixepoch') AS applied_at,
  datetime(k.from_at / 1000, 'unixepoch') AS from_time,
  datetime(k.to_at / 1000, 'unixepoch') AS to_time,
  k.parent AS rolled_up_by, k.focus, k.error, k.text AS summary
FROM compactions k JOIN conversations c ON c.id = k.conversation;
