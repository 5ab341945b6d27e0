-- The turn context: what stood behind the newest message of a turn when the model was asked. It is
-- written with the answer, and shown again until the head changes, so that each request extends
-- the one before.
ALTER TABLE messages ADD COLUMN context TEXT NOT NULL DEFAULT '';
ALTER TABLE conversations ADD COLUMN context_from INTEGER NOT NULL DEFAULT 1; -- contexts before this seq are shown no more

-- What a turn context was made of. A deletion of the source empties the context.
CREATE TABLE quotes (
  message INTEGER NOT NULL REFERENCES messages (id), -- whose context it is
  kind    TEXT    NOT NULL CHECK (kind IN ('message', 'memory')),
  source  INTEGER NOT NULL, -- messages.id or memories.id
  PRIMARY KEY (kind, source, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX quotes_message ON quotes (message);

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
