-- Views for people who ask in SQL: names that can be read, times as text in UTC, nothing that
-- was deleted. memories_view is there since version 4.

-- Each message that was not deleted, with what tools answered.
CREATE VIEW messages_view AS SELECT
  c.name AS channel, m.seq, m.turn, m.role, m.author, m.text, m.attachments, m.tool,
  nullif(m.reply_seq, 0) AS reply_to, m.addressed, m.tokens,
  datetime(m.said_at / 1000, 'unixepoch') AS said_at,
  datetime(m.edited_at / 1000, 'unixepoch') AS edited_at
FROM messages m JOIN conversations c ON c.id = m.conversation
WHERE m.deleted_at IS NULL;

-- Each compaction, also one that failed or that another one replaced.
CREATE VIEW compactions_view AS SELECT
  k.id, c.name AS channel, k.trigger, k.kind, k.state, k.level, k.from_seq, k.to_seq, k.messages,
  k.before_tokens, k.after_tokens, k.tokens AS summary_tokens, k.made_by, k.model,
  CASE WHEN k.prepared_at IS NOT NULL THEN (k.prepared_at - k.created_at) / 1000.0 END AS seconds,
  datetime(k.created_at / 1000, 'unixepoch') AS started_at,
  datetime(k.applied_at / 1000, 'unixepoch') AS applied_at,
  datetime(k.from_at / 1000, 'unixepoch') AS from_time,
  datetime(k.to_at / 1000, 'unixepoch') AS to_time,
  k.parent AS rolled_up_by, k.focus, k.error, k.text AS summary
FROM compactions k JOIN conversations c ON c.id = k.conversation;
