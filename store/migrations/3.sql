-- What was learnt about models, and what they counted.

-- name is the model's and its server's, "gpt-4o@api.openai.com/v1".
ALTER TABLE models ADD COLUMN scale          INTEGER NOT NULL DEFAULT 100; -- the factor in percent, in coarse steps
ALTER TABLE models ADD COLUMN refuses_images INTEGER NOT NULL DEFAULT 0;

-- The last count of a prompt, see compactor.Count; it holds while counted_with is the generation.
ALTER TABLE conversations ADD COLUMN counted          INTEGER NOT NULL DEFAULT 0; -- tokens; 0: none
ALTER TABLE conversations ADD COLUMN counted_estimate INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN counted_by       TEXT    NOT NULL DEFAULT ''; -- the model's name
ALTER TABLE conversations ADD COLUMN counted_with     INTEGER NOT NULL DEFAULT 0;

-- What people set with /settings, for one conversation each.
CREATE TABLE overrides (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  key          TEXT NOT NULL CHECK (key <> ''), -- of compactor.Policy
  value        TEXT NOT NULL,                   -- as people write it
  made_by      TEXT NOT NULL,                   -- the name of who set it
  made_at      INTEGER NOT NULL,
  PRIMARY KEY (conversation, key)
) STRICT, WITHOUT ROWID;

-- Taking landings back, pins, and where in the transcript a landing stands.

-- A landing is the rows of one generation: active are those that came with it, and
-- those that ended with it come back when it is undone.
ALTER TABLE compactions ADD COLUMN ended_with     INTEGER; -- the generation with which it left the view: folded, replaced or undone
ALTER TABLE compactions ADD COLUMN cleared_before INTEGER; -- cleared_to of the conversation before it landed; NULL: it cannot be undone
ALTER TABLE compactions ADD COLUMN next_seq       INTEGER; -- of the conversation, when it landed
UPDATE compactions SET next_seq = coalesce(
    (SELECT m.seq FROM messages m WHERE m.id BETWEEN compactions.conversation << 32 AND compactions.conversation << 32 | 4294967295
     AND m.saved_at > compactions.landed_at ORDER BY m.id LIMIT 1),
    (SELECT c.next_seq FROM conversations c WHERE c.id = compactions.conversation))
  WHERE landed_at IS NOT NULL;

-- What lies over a message, whatever became of it.
CREATE INDEX compactions_to ON compactions (conversation, to_seq);

-- What an undo set free is left alone until the aggressive level; 0: nothing is.
ALTER TABLE conversations ADD COLUMN spared_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN spared_to   INTEGER NOT NULL DEFAULT 0;

CREATE TABLE pins (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  seq          INTEGER NOT NULL CHECK (seq > 0),
  made_by      TEXT NOT NULL, -- who pinned it
  made_at      INTEGER NOT NULL,
  PRIMARY KEY (conversation, seq)
) STRICT, WITHOUT ROWID;

-- Segments of a conversation, and threads with what they have of their channel.

-- What lies between two /new. The current segment is not here: it begins at
-- conversations.segment_start.
CREATE TABLE segments (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  from_seq     INTEGER NOT NULL,
  to_seq       INTEGER NOT NULL CHECK (to_seq >= from_seq),
  settled      INTEGER NOT NULL, -- no work is left: one row by a worker stands for it, or none is needed
  PRIMARY KEY (conversation, from_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX segments_unsettled ON segments (conversation, from_seq) WHERE NOT settled;

CREATE TRIGGER segment_row_added AFTER INSERT ON compactions BEGIN
  UPDATE segments SET settled = (SELECT count(*) < 2 AND NOT coalesce(max(kind = 'marker' OR made_by = 'built-in'), 0) FROM compactions
    WHERE conversation = NEW.conversation AND state = 'active' AND from_seq BETWEEN segments.from_seq AND segments.to_seq)
  WHERE conversation = NEW.conversation AND to_seq >= NEW.from_seq
    AND from_seq = (SELECT max(from_seq) FROM segments WHERE conversation = NEW.conversation AND from_seq <= NEW.from_seq);
END;
CREATE TRIGGER segment_row_changed AFTER UPDATE OF state ON compactions BEGIN
  UPDATE segments SET settled = (SELECT count(*) < 2 AND NOT coalesce(max(kind = 'marker' OR made_by = 'built-in'), 0) FROM compactions
    WHERE conversation = NEW.conversation AND state = 'active' AND from_seq BETWEEN segments.from_seq AND segments.to_seq)
  WHERE conversation = NEW.conversation AND to_seq >= NEW.from_seq
    AND from_seq = (SELECT max(from_seq) FROM segments WHERE conversation = NEW.conversation AND from_seq <= NEW.from_seq);
END;

-- New segments that somebody wants, and that begin when what was said before is
-- taken up and answered.
CREATE TABLE wanted_segments (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  after        INTEGER NOT NULL, -- the last row of the inbox that belongs to the segment before
  wanted_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX wanted_segments_order ON wanted_segments (conversation, after);

-- What a thread has of the channel above it: copies of the active rows as they
-- stood when its first message was taken up, and of the message it hangs on.
CREATE TABLE inherited (
  conversation INTEGER NOT NULL REFERENCES conversations (id), -- the thread
  place        INTEGER NOT NULL, -- 0: the message; from 1 on the rows, oldest first
  parent       INTEGER NOT NULL REFERENCES conversations (id),
  from_seq     INTEGER NOT NULL, -- in the parent; 0: the message waited in its inbox
  to_seq       INTEGER NOT NULL,
  from_at      INTEGER NOT NULL,
  to_at        INTEGER NOT NULL,
  kind         TEXT NOT NULL,    -- of a row; empty: it is the message
  messages     INTEGER NOT NULL, -- how many a row holds
  platform_id  TEXT NOT NULL,    -- of the message
  role         TEXT NOT NULL,
  author       TEXT NOT NULL,
  reply_to     TEXT NOT NULL,
  quote        TEXT NOT NULL,
  text         TEXT NOT NULL,
  attachments  TEXT NOT NULL,    -- JSON list
  tokens       INTEGER NOT NULL, -- what it costs in the view
  PRIMARY KEY (conversation, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX inherited_rows    ON inherited (parent, to_seq);
CREATE INDEX inherited_message ON inherited (parent, platform_id) WHERE platform_id <> '';
CREATE INDEX inherited_quotes  ON inherited (parent, reply_to) WHERE quote <> '';
