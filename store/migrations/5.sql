-- The turn context: what the model was shown behind the newest message of a turn. It is written
-- with the answer and shown again with that message until the head changes, so that each request
-- extends the one before.
ALTER TABLE messages ADD COLUMN context TEXT NOT NULL DEFAULT '';
CREATE INDEX messages_context ON messages (id) WHERE context <> '';

-- What a turn context was made of: a deletion of the source removes the context.
CREATE TABLE quotes (
  kind    TEXT    NOT NULL CHECK (kind IN ('message', 'memory')),
  source  INTEGER NOT NULL, -- messages.id or memories.id
  message INTEGER NOT NULL REFERENCES messages (id), -- whose context it is
  PRIMARY KEY (kind, source, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX quotes_message ON quotes (message);

-- A new head ends what the provider's cache holds, and with it the contexts of earlier turns.
CREATE TRIGGER conversations_head AFTER UPDATE OF generation ON conversations WHEN new.generation <> old.generation BEGIN
  DELETE FROM quotes WHERE message BETWEEN new.id << 32 AND new.id << 32 | 4294967295;
  UPDATE messages SET context = '' WHERE id BETWEEN new.id << 32 AND new.id << 32 | 4294967295 AND context <> '';
END;

-- Reasoning that a provider demands back. It goes with any deletion before it.
CREATE INDEX messages_reasoning ON messages (id) WHERE native <> '';

-- Calls whose reasoning was dropped while their turn ran: they are shown in words.
ALTER TABLE messages ADD COLUMN deprived INTEGER NOT NULL DEFAULT 0;

-- What was learnt about a model, beside what the table has.
ALTER TABLE models ADD COLUMN wire            TEXT    NOT NULL DEFAULT ''; -- the one its server demanded
ALTER TABLE models ADD COLUMN wants_reasoning INTEGER NOT NULL DEFAULT 0;  -- of earlier turns with tool calls
ALTER TABLE models ADD COLUMN refuses_forced  INTEGER NOT NULL DEFAULT 0;  -- a tool that must be called

-- What models were paid for, in tokens. cached and written are parts of input.
CREATE TABLE usage (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  day          TEXT    NOT NULL CHECK (day GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'), -- in time_zone
  kind         TEXT    NOT NULL CHECK (kind IN ('turn', 'summary')),
  model        TEXT    NOT NULL,
  requests     INTEGER NOT NULL,
  input        INTEGER NOT NULL,
  cached       INTEGER NOT NULL,
  written      INTEGER NOT NULL,
  output       INTEGER NOT NULL,
  PRIMARY KEY (conversation, day, kind, model)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_day ON usage (day);

-- How often it was begun to complete a message, or what was said before the bot came: what
-- they hold may have killed the process.
ALTER TABLE inbox         ADD COLUMN tries      INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN past_tries INTEGER NOT NULL DEFAULT 0;

-- How often a piece of a reply was refused: one that is refused for ever holds up the rest.
ALTER TABLE outbox ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0;

-- What people call the place, as its platform told last: "#general · Cozy Corner".
ALTER TABLE conversations ADD COLUMN label TEXT NOT NULL DEFAULT '';

-- A summary without a model that one is still to make better, and what came of it. Of talk in
-- which the bot had no part only the newest is worth that.
ALTER TABLE compactions ADD COLUMN owed       INTEGER NOT NULL DEFAULT 0;  -- whether a model is to summarize it
ALTER TABLE compactions ADD COLUMN tries      INTEGER NOT NULL DEFAULT 0;  -- how often the model declined
ALTER TABLE compactions ADD COLUMN tried_at   INTEGER NOT NULL DEFAULT 0;  -- when it did so last
ALTER TABLE compactions ADD COLUMN tried_with TEXT    NOT NULL DEFAULT ''; -- which model it was
UPDATE compactions SET owed = 1
  WHERE state IN ('active', 'folded') AND (kind = 'marker' OR made_by = 'built-in')
    AND EXISTS (SELECT 1 FROM messages m WHERE m.addressed = 1
      AND m.id BETWEEN (compactions.conversation << 32) + compactions.from_seq AND (compactions.conversation << 32) + compactions.to_seq);
CREATE INDEX compactions_owed ON compactions (conversation) WHERE state = 'active' AND (owed = 1 OR kind = 'marker');
