-- The names of the first versions give way to those of the documentation.
DROP TRIGGER segment_row_added;
DROP TRIGGER segment_row_changed;
DROP TRIGGER conversations_head;
DROP VIEW  memories_view;
DROP INDEX compactions_state;
DROP INDEX compactions_owed;
DROP INDEX compactions_landed;
DROP INDEX segments_unsettled;
DROP INDEX wanted_segments_order;

ALTER TABLE conversations   RENAME COLUMN generation    TO version;
ALTER TABLE conversations   RENAME COLUMN segment_start TO session_start;
ALTER TABLE optouts         RENAME COLUMN door          TO connector;
ALTER TABLE segments        RENAME TO sessions;
ALTER TABLE wanted_segments RENAME TO wanted_sessions;
ALTER TABLE compactions     RENAME COLUMN staged_at     TO prepared_at;
ALTER TABLE compactions     RENAME COLUMN landed_at     TO applied_at;
ALTER TABLE compactions     RENAME COLUMN generation    TO version;

-- A check of values is part of its column, so that a column with other values is a new one. The
-- tables cannot be made anew: others refer to them.
ALTER TABLE compactions RENAME COLUMN kind      TO kind_was;
ALTER TABLE compactions RENAME COLUMN made_by   TO made_by_was;
ALTER TABLE compactions RENAME COLUMN state     TO state_was;
ALTER TABLE compactions RENAME COLUMN extracted TO extracted_was;
ALTER TABLE memories    RENAME COLUMN made_by   TO made_by_was;
ALTER TABLE compactions ADD COLUMN kind      TEXT NOT NULL DEFAULT 'leaf'    CHECK (kind IN ('leaf', 'rollup', 'placeholder'));
ALTER TABLE compactions ADD COLUMN made_by   TEXT NOT NULL DEFAULT 'worker'  CHECK (made_by IN ('worker', 'extractive', 'emergency'));
ALTER TABLE compactions ADD COLUMN state     TEXT NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'prepared', 'applied', 'rolled_up', 'replaced', 'undone', 'failed', 'stale'));
ALTER TABLE compactions ADD COLUMN extracted TEXT NOT NULL DEFAULT ''        CHECK (extracted IN ('', 'worker', 'extractive')); -- who saved memories from its messages
ALTER TABLE memories    ADD COLUMN made_by   TEXT NOT NULL DEFAULT 'worker'  CHECK (made_by IN ('worker', 'extractive', 'assistant', 'person'));
UPDATE compactions SET
  kind      = iif(kind_was = 'marker', 'placeholder', kind_was),
  made_by   = iif(made_by_was = 'built-in', 'extractive', made_by_was),
  state     = CASE state_was WHEN 'staged' THEN 'prepared' WHEN 'active' THEN 'applied' WHEN 'folded' THEN 'rolled_up' ELSE state_was END,
  extracted = iif(extracted_was = 'built-in', 'extractive', extracted_was),
  trigger   = iif(trigger = 'heal', 'repair', trigger);
UPDATE memories  SET made_by = iif(made_by_was = 'built-in', 'extractive', made_by_was);
UPDATE inherited SET kind = 'placeholder' WHERE kind = 'marker';
UPDATE overrides SET key = 'earlier_sessions' WHERE key = 'earlier_segments';
ALTER TABLE compactions DROP COLUMN kind_was;
ALTER TABLE compactions DROP COLUMN made_by_was;
ALTER TABLE compactions DROP COLUMN state_was;
ALTER TABLE compactions DROP COLUMN extracted_was;
ALTER TABLE memories    DROP COLUMN made_by_was;

CREATE INDEX compactions_state     ON compactions (conversation, state, from_seq);
CREATE INDEX compactions_owed      ON compactions (conversation) WHERE state = 'applied' AND (owed = 1 OR kind = 'placeholder');
CREATE INDEX compactions_applied   ON compactions (conversation, version) WHERE version IS NOT NULL;
CREATE INDEX sessions_unsettled    ON sessions (conversation, from_seq) WHERE NOT settled;
CREATE INDEX wanted_sessions_order ON wanted_sessions (conversation, after);

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

-- A worker's summary of a message that was edited since is shown until a model has repaired it.
CREATE TRIGGER session_row_added AFTER INSERT ON compactions BEGIN
  UPDATE sessions SET settled = (SELECT count(*) < 2 AND NOT coalesce(max(kind = 'placeholder' OR made_by = 'extractive' OR owed), 0) FROM compactions
    WHERE conversation = NEW.conversation AND state = 'applied' AND from_seq BETWEEN sessions.from_seq AND sessions.to_seq)
  WHERE conversation = NEW.conversation AND to_seq >= NEW.from_seq
    AND from_seq = (SELECT max(from_seq) FROM sessions WHERE conversation = NEW.conversation AND from_seq <= NEW.from_seq);
END;
CREATE TRIGGER session_row_changed AFTER UPDATE OF state ON compactions BEGIN
  UPDATE sessions SET settled = (SELECT count(*) < 2 AND NOT coalesce(max(kind = 'placeholder' OR made_by = 'extractive' OR owed), 0) FROM compactions
    WHERE conversation = NEW.conversation AND state = 'applied' AND from_seq BETWEEN sessions.from_seq AND sessions.to_seq)
  WHERE conversation = NEW.conversation AND to_seq >= NEW.from_seq
    AND from_seq = (SELECT max(from_seq) FROM sessions WHERE conversation = NEW.conversation AND from_seq <= NEW.from_seq);
END;

-- A change of what a job reads makes its row stale at once: nothing is compared any more.
ALTER TABLE compactions DROP COLUMN begun_with;

-- quotes says of the answers of tools, too, what they were made of: those outlast the head.
CREATE TRIGGER conversations_head AFTER UPDATE OF version ON conversations WHEN new.version <> old.version BEGIN
  DELETE FROM quotes WHERE message IN (SELECT id FROM messages INDEXED BY messages_context
    WHERE id BETWEEN new.id << 32 AND new.id << 32 | 4294967295 AND context <> '');
  UPDATE messages SET context = '' WHERE id BETWEEN new.id << 32 AND new.id << 32 | 4294967295 AND context <> '';
END;
