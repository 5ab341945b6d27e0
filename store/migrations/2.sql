-- Doors to platforms: threads, quotes, pictures, edits, deletions, absences.

ALTER TABLE conversations ADD COLUMN following INTEGER NOT NULL DEFAULT 0; -- of a thread: the bot answers on unaddressed
ALTER TABLE conversations ADD COLUMN gap       TEXT;                       -- messages after this platform id may have been missed; NULL: none
ALTER TABLE conversations ADD COLUMN gap_again INTEGER NOT NULL DEFAULT 0; -- the bot was away once more since the gap opened
ALTER TABLE conversations ADD COLUMN read_back INTEGER NOT NULL DEFAULT 0; -- what was said before the bot came was read, or is not wanted
UPDATE conversations SET read_back = 1 WHERE next_seq > 1;

ALTER TABLE inbox ADD COLUMN quote      TEXT NOT NULL DEFAULT '';   -- how the message begins to which it replies
ALTER TABLE inbox ADD COLUMN optional   INTEGER NOT NULL DEFAULT 0; -- addressed, but the bot may stay silent
ALTER TABLE inbox ADD COLUMN incomplete INTEGER NOT NULL DEFAULT 0; -- its door can find out more
ALTER TABLE inbox ADD COLUMN edited_at  INTEGER;                    -- by the platform's clock

-- edited_at is by the platform's clock too: it tells the newer of two edits.
ALTER TABLE messages ADD COLUMN quote        TEXT NOT NULL DEFAULT '';   -- as in inbox; empty where reply_seq is known
ALTER TABLE messages ADD COLUMN reply_seq    INTEGER NOT NULL DEFAULT 0; -- place of the message it replies to; 0: it stands elsewhere
ALTER TABLE messages ADD COLUMN optional     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE messages ADD COLUMN changed_with INTEGER;                    -- the generation that the last edit or deletion raised
UPDATE messages SET changed_with = 0 WHERE edited_at IS NOT NULL OR deleted_at IS NOT NULL;
DROP INDEX messages_changed;
CREATE INDEX messages_changed ON messages (id) WHERE changed_with IS NOT NULL;
CREATE INDEX messages_replies ON messages (conversation, platform_id) WHERE role = 'assistant' AND platform_id <> '';
CREATE INDEX messages_quotes  ON messages (conversation, reply_to) WHERE quote <> '';

ALTER TABLE compactions ADD COLUMN begun_with INTEGER NOT NULL DEFAULT 0; -- generation of the conversation when it was begun

-- Pictures, to be shown to models that can see.
CREATE TABLE files (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  platform_id  TEXT NOT NULL, -- of the message it came with
  type         TEXT NOT NULL, -- media type
  data         BLOB NOT NULL
) STRICT;
CREATE INDEX files_message ON files (conversation, platform_id);

-- Messages that were deleted while they waited in the inbox: they may be delivered again.
CREATE TABLE gone (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  platform_id  TEXT NOT NULL,
  PRIMARY KEY (conversation, platform_id)
) STRICT, WITHOUT ROWID;

-- The kill switch.
CREATE TABLE pauses (
  scope   TEXT PRIMARY KEY, -- a conversation's name; '': everywhere
  made_by TEXT NOT NULL,    -- who paused it
  made_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A piece that can never be sent is dropped: a new state needs a new table.
CREATE TABLE outbox_new (
  id           INTEGER PRIMARY KEY AUTOINCREMENT, -- the order of sending
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  reply        TEXT NOT NULL CHECK (reply <> ''), -- id of the reply it is part of
  part         INTEGER NOT NULL, -- from 0
  parts        INTEGER NOT NULL,
  answers      TEXT NOT NULL,    -- JSON list of the platform ids of the messages it answers
  text         TEXT NOT NULL,
  failure      INTEGER NOT NULL, -- a plain sentence about a failure, not the assistant's words
  state        TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sending', 'sent', 'dropped')),
  platform_id  TEXT NOT NULL DEFAULT '', -- once sent
  error        TEXT NOT NULL DEFAULT '', -- why it was dropped
  created_at   INTEGER NOT NULL,
  sent_at      INTEGER,                  -- or dropped
  UNIQUE (conversation, reply, part)
) STRICT;
INSERT INTO outbox_new (id, conversation, reply, part, parts, answers, text, failure, state, platform_id, created_at, sent_at)
  SELECT id, conversation, reply, part, parts, answers, text, failure, state, platform_id, created_at, sent_at FROM outbox;
DROP TABLE outbox;
ALTER TABLE outbox_new RENAME TO outbox;
CREATE INDEX outbox_unsent   ON outbox (conversation, id) WHERE state IN ('waiting', 'sending');
CREATE INDEX outbox_platform ON outbox (conversation, platform_id) WHERE platform_id <> '';
