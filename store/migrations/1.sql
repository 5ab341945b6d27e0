-- The first schema: everything the bot keeps, in one file.
-- Times are Unix milliseconds, UTC. Empty text stands for "none".

CREATE TABLE conversations (
  id            INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id BETWEEN 1 AND 2147483647), -- our own, so that it fits a message's row id
  name          TEXT NOT NULL UNIQUE CHECK (name <> ''),   -- door:server/channel[/thread]
  parent        INTEGER REFERENCES conversations (id),     -- of a thread
  origin        TEXT NOT NULL DEFAULT '' CHECK (origin IN ('', 'live', 'imported')), -- '': nothing was said yet
  next_seq      INTEGER NOT NULL DEFAULT 1 CHECK (next_seq BETWEEN 1 AND 4294967296), -- never goes back: no seq is used twice
  generation    INTEGER NOT NULL DEFAULT 0,                -- raised by every change of the head
  cleared_to    INTEGER NOT NULL DEFAULT 0,                -- tool results up to this seq are shown cleared
  segment_start INTEGER NOT NULL DEFAULT 1,                -- first seq of the current segment
  agent         TEXT NOT NULL DEFAULT '',                  -- who answers here; '': the first one
  created_at    INTEGER NOT NULL
) STRICT;

-- What was delivered and not yet taken up. A row moves to messages and gets its seq.
CREATE TABLE inbox (
  id           INTEGER PRIMARY KEY AUTOINCREMENT, -- the order of arrival
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  platform_id  TEXT NOT NULL CHECK (platform_id <> ''),
  author_id    TEXT NOT NULL,
  author       TEXT NOT NULL,
  text         TEXT NOT NULL,
  attachments  TEXT NOT NULL,    -- JSON list
  reply_to     TEXT NOT NULL,    -- platform id
  said_at      INTEGER NOT NULL,
  received_at  INTEGER NOT NULL,
  addressed    INTEGER NOT NULL, -- somebody wants an answer
  UNIQUE (conversation, platform_id)
) STRICT;
CREATE INDEX inbox_order ON inbox (conversation, id);

CREATE TABLE messages (
  id           INTEGER PRIMARY KEY, -- conversation << 32 | seq: a conversation's messages lie together
  conversation INTEGER NOT NULL GENERATED ALWAYS AS (id >> 32) VIRTUAL REFERENCES conversations (id),
  seq          INTEGER NOT NULL GENERATED ALWAYS AS (id & 4294967295) VIRTUAL CHECK (seq > 0),
  turn         INTEGER NOT NULL,  -- seq of the first message of its turn
  role         TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool')),
  platform_id  TEXT NOT NULL,
  author_id    TEXT NOT NULL,
  author       TEXT NOT NULL,
  text         TEXT NOT NULL,
  attachments  TEXT NOT NULL,     -- JSON list
  reply_to     TEXT NOT NULL,     -- platform id
  calls        TEXT NOT NULL,     -- assistant: JSON list of the tools it called
  call_id      TEXT NOT NULL,     -- tool: the call it answers
  tool         TEXT NOT NULL,     -- tool: its name
  native       TEXT NOT NULL,     -- the provider's own JSON, opaque
  said_at      INTEGER NOT NULL,
  saved_at     INTEGER NOT NULL,
  addressed    INTEGER NOT NULL,  -- somebody wants an answer
  answered     INTEGER CHECK (answered BETWEEN 0 AND 2), -- of a turn, kept by its first message: 0 waiting, 1 answered, 2 closed
  attempts     INTEGER NOT NULL,  -- how often the turn was begun; kept by its first message
  tokens       INTEGER NOT NULL,  -- what it costs in the view
  edited_at    INTEGER,
  deleted_at   INTEGER            -- then the row is a tombstone
) STRICT;
CREATE UNIQUE INDEX messages_platform ON messages (conversation, platform_id) WHERE role = 'user';
CREATE INDEX messages_waiting   ON messages (id) WHERE answered = 0;
CREATE INDEX messages_addressed ON messages (id) WHERE addressed = 1;
CREATE INDEX messages_changed   ON messages (id) WHERE edited_at IS NOT NULL OR deleted_at IS NOT NULL;

CREATE TABLE compactions (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation  INTEGER NOT NULL REFERENCES conversations (id),
  kind          TEXT NOT NULL CHECK (kind IN ('leaf', 'rollup', 'marker')),
  made_by       TEXT NOT NULL CHECK (made_by IN ('worker', 'built-in', 'emergency')),
  state         TEXT NOT NULL CHECK (state IN ('running', 'staged', 'active', 'folded', 'replaced', 'undone', 'failed', 'stale')),
  trigger       TEXT NOT NULL,
  level         INTEGER NOT NULL CHECK (level BETWEEN 0 AND 12),
  from_seq      INTEGER NOT NULL CHECK (from_seq > 0),
  to_seq        INTEGER NOT NULL CHECK (to_seq >= from_seq),
  from_at       INTEGER NOT NULL, -- when the span's first message was said
  to_at         INTEGER NOT NULL, -- when its last was
  messages      INTEGER NOT NULL, -- how many it holds, deleted ones not counted
  parent        INTEGER REFERENCES compactions (id), -- the rollup that folded it
  children      TEXT NOT NULL,    -- of a rollup: JSON list of the rows it read, oldest first
  sources       TEXT NOT NULL DEFAULT '', -- of the built-in summarizer: JSON list of the messages a fold chooses among
  text          TEXT NOT NULL DEFAULT '',
  tokens        INTEGER NOT NULL DEFAULT 0,
  before_tokens INTEGER NOT NULL DEFAULT 0, -- used before it landed
  after_tokens  INTEGER NOT NULL DEFAULT 0, -- used after
  model         TEXT NOT NULL DEFAULT '',
  focus         TEXT NOT NULL DEFAULT '',
  policy_hash   TEXT NOT NULL DEFAULT '',
  error         TEXT NOT NULL DEFAULT '',   -- why it failed, in words for people
  extracted     TEXT NOT NULL DEFAULT '' CHECK (extracted IN ('', 'worker', 'built-in')), -- who saved memories from its messages
  refused       INTEGER NOT NULL DEFAULT 0, -- how many memories were refused while it was made
  created_at    INTEGER NOT NULL,
  staged_at     INTEGER,
  landed_at     INTEGER,
  generation    INTEGER                     -- of the conversation, when it landed
) STRICT;
CREATE INDEX compactions_state ON compactions (conversation, state, from_seq);
CREATE INDEX compactions_parent ON compactions (parent) WHERE parent IS NOT NULL;

CREATE TABLE memories (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation  INTEGER NOT NULL REFERENCES conversations (id),
  kind          TEXT NOT NULL CHECK (kind IN ('identity', 'goal', 'decision', 'todo', 'preference', 'fact', 'event', 'observation')),
  content       TEXT NOT NULL CHECK (content <> ''),
  folded        TEXT NOT NULL,    -- content without case, accents and punctuation: the same fact is one row
  importance    REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
  speaker       TEXT NOT NULL,    -- who said it
  about         TEXT NOT NULL,
  made_by       TEXT NOT NULL CHECK (made_by IN ('worker', 'built-in', 'assistant', 'person')),
  compaction    INTEGER REFERENCES compactions (id), -- the row it was saved with
  said_at       INTEGER NOT NULL,
  saved_at      INTEGER NOT NULL,
  confirmed     INTEGER NOT NULL DEFAULT 1, -- how often it was said
  state         TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'superseded', 'forgotten', 'replaced')),
  superseded_by INTEGER REFERENCES memories (id)
) STRICT;
CREATE UNIQUE INDEX memories_fact ON memories (conversation, folded) WHERE state = 'active';
CREATE INDEX memories_newest ON memories (conversation, state, said_at);

CREATE TABLE memory_sources (
  memory  INTEGER NOT NULL REFERENCES memories (id),
  message INTEGER NOT NULL REFERENCES messages (id),
  PRIMARY KEY (memory, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_sources_message ON memory_sources (message);

-- The search index: a row for each word of each document. No foreign keys: they
-- would cost more than the rows, which are only written beside their documents.
CREATE TABLE message_terms (
  conversation INTEGER NOT NULL,
  term         TEXT NOT NULL,
  seq          INTEGER NOT NULL,
  tf           INTEGER NOT NULL, -- how often the term stands in the message
  length       INTEGER NOT NULL, -- how many terms the message has
  PRIMARY KEY (conversation, term, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE memory_terms (
  term         TEXT NOT NULL,    -- first: the shell searches all conversations at once
  conversation INTEGER NOT NULL,
  memory       INTEGER NOT NULL,
  tf           INTEGER NOT NULL,
  length       INTEGER NOT NULL,
  PRIMARY KEY (term, conversation, memory)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
  id           INTEGER PRIMARY KEY AUTOINCREMENT, -- the order of sending
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  reply        TEXT NOT NULL CHECK (reply <> ''), -- id of the reply it is part of
  part         INTEGER NOT NULL, -- from 0
  parts        INTEGER NOT NULL,
  answers      TEXT NOT NULL,    -- JSON list of the platform ids of the messages it answers
  text         TEXT NOT NULL,
  failure      INTEGER NOT NULL, -- a plain sentence about a failure, not the assistant's words
  state        TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sending', 'sent')),
  platform_id  TEXT NOT NULL DEFAULT '', -- once sent
  created_at   INTEGER NOT NULL,
  sent_at      INTEGER,
  UNIQUE (conversation, reply, part)
) STRICT;
CREATE INDEX outbox_unsent ON outbox (conversation, id) WHERE state <> 'sent';

-- What was learnt about models.
CREATE TABLE models (
  name          TEXT PRIMARY KEY CHECK (name <> ''),
  window        INTEGER NOT NULL DEFAULT 0, -- tokens, learnt downward only; 0: not learnt
  factor        REAL NOT NULL DEFAULT 1,    -- real tokens for one estimated
  refuses_tools INTEGER NOT NULL DEFAULT 0,
  updated_at    INTEGER NOT NULL
) STRICT;
