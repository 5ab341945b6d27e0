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
