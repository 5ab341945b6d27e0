-- The newest schema: everything the bot keeps, in one file. A new database is made from it; an older one
-- becomes the same by the migrations, and a test compares the two. A change needs both.
-- Times are Unix milliseconds, UTC. Empty text stands for "none". A seq is a message's place in its
-- conversation, from 1 on; messages.id is conversation << 32 | seq.

-- Channels, threads and direct messages; and the tasks of sub-agents.
CREATE TABLE conversations (
  id               INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id BETWEEN 1 AND 2147483647), -- our own, so that it fits a message's row id
  name             TEXT NOT NULL UNIQUE CHECK (name <> ''), -- connector:server/channel[/thread]
  parent           INTEGER REFERENCES conversations (id), -- of a thread
  origin           TEXT NOT NULL DEFAULT '' CHECK (origin IN ('', 'live', 'imported')), -- '': nothing was said yet
  next_seq         INTEGER NOT NULL DEFAULT 1 CHECK (next_seq BETWEEN 1 AND 4294967296), -- never goes back: no seq is used twice
  version          INTEGER NOT NULL DEFAULT 0,            -- raised by every change of the head
  cleared_to       INTEGER NOT NULL DEFAULT 0,            -- tool results up to this seq are shown cleared
  session_start    INTEGER NOT NULL DEFAULT 1,            -- first seq of the current session
  created_at       INTEGER NOT NULL,
  following        INTEGER NOT NULL DEFAULT 0,            -- of a thread: the bot answers messages that do not address it, too
  gap              TEXT,                                  -- messages after this platform id may have been missed; NULL: none
  gap_again        INTEGER NOT NULL DEFAULT 0,            -- the bot was away once more since the gap opened
  read_back        INTEGER NOT NULL DEFAULT 0,            -- what was said before the bot came was read, or is not wanted
  counted          INTEGER NOT NULL DEFAULT 0,            -- tokens of the last prompt that its provider counted, see compactor.Count; 0: none
  counted_estimate INTEGER NOT NULL DEFAULT 0,            -- the same, estimated
  counted_by       TEXT NOT NULL DEFAULT '',              -- the model's name
  counted_with     INTEGER NOT NULL DEFAULT 0,            -- the version then: the count holds while it lasts
  spared_from      INTEGER NOT NULL DEFAULT 0,            -- what an undo set free is left alone until the aggressive level; 0: nothing is
  spared_to        INTEGER NOT NULL DEFAULT 0,
  audience         TEXT NOT NULL DEFAULT '' CHECK (audience IN ('', 'channel', 'server')), -- who may read it beside its members: those of a thread's channel, or everybody
  past_tries       INTEGER NOT NULL DEFAULT 0,            -- attempts to read what people said before the bot joined: one may have killed the process
  label            TEXT NOT NULL DEFAULT '',              -- what people call the place: "#general · Cozy Corner"
  unread_from      INTEGER NOT NULL DEFAULT 0,            -- first seq of an import that the compactor has not read; 0: it has read all
  bot_turns        INTEGER NOT NULL DEFAULT 0,            -- messages of other bots that were to be answered since a person wrote, see MaxBotTurns
  vectors_deleted  INTEGER NOT NULL DEFAULT 0,            -- vectors of messages that were deleted: copies of them in memory are out of date
  owner            INTEGER NOT NULL DEFAULT 0,            -- the process that works on it and on its tasks; 0, or one that has ended: none does
  epoch            INTEGER NOT NULL DEFAULT 0,            -- raised for each owner: what an earlier one still writes is refused
  archived_at      INTEGER NOT NULL DEFAULT 0             -- when people archived it; a newer message brings it back. 0: never
) STRICT;

-- The processes that run the bot on this database, see lease.go. A row that is gone does not come back: that process has ended.
CREATE TABLE processes (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  name        TEXT NOT NULL,              -- for people: HOST:PID
  connectors  TEXT NOT NULL,              -- JSON list of {"name", "account", "shards"}: where it can talk to people, and as whom
  version     TEXT NOT NULL,              -- of the program
  settings    TEXT NOT NULL,              -- hash of its settings
  started_at  INTEGER NOT NULL,           -- like lease_until by the clock of the database
  lease_until INTEGER NOT NULL,           -- from then on anybody may end it
  draining    INTEGER NOT NULL DEFAULT 0  -- it takes on nothing new, and ends soon
) STRICT;

-- The shards of a platform, see shards.go: the process that owns one receives what people write there. All of a platform but Discord are one.
CREATE TABLE shards (
  connector  TEXT NOT NULL,
  number     INTEGER NOT NULL,
  count      INTEGER NOT NULL,            -- of all shards of the platform
  owner      INTEGER NOT NULL DEFAULT 0,  -- a process; 0, or one that has ended: none
  session    TEXT NOT NULL DEFAULT '',    -- JSON of the connector: where the next owner continues
  next_start INTEGER NOT NULL DEFAULT 0,  -- by the clock of the database: when the next session of the bucket with this number may start
  PRIMARY KEY (connector, number)
) STRICT;

-- What a process has written to a conversation that it does not own: the owner reads that, and deletes the row before.
CREATE TABLE events (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  changed      INTEGER NOT NULL -- 1: what the owner knows of the conversation is out of date; 0: it has more to do
) STRICT;

-- What a process asks the owner of a conversation to do. Whoever asks deletes the row, within minutes.
CREATE TABLE requests (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  process      INTEGER NOT NULL,            -- that asks
  kind         TEXT NOT NULL,               -- which part of the program handles it
  body         TEXT NOT NULL,               -- what is asked; '' once it is taken
  asked_at     INTEGER NOT NULL,            -- by the clock of the database
  taken        INTEGER NOT NULL DEFAULT 0,  -- the process that does it, or has done it; 0: nobody yet
  answer       TEXT NOT NULL DEFAULT '',    -- '': none yet
  outcome      TEXT NOT NULL DEFAULT ''     -- of what the answer announces; '': none yet
) STRICT;

-- Turns of people in the last minute, which several processes count together; one process counts them in memory.
CREATE TABLE taken_turns (
  author_id TEXT NOT NULL,
  until     INTEGER NOT NULL, -- when it no longer counts, by the clock of the database
  n         INTEGER NOT NULL,
  PRIMARY KEY (author_id, until)
) STRICT, WITHOUT ROWID;

-- Model calls in the last hour, for the next owner of a conversation of people. Those of its tasks count for it.
CREATE TABLE made_calls (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  until        INTEGER NOT NULL, -- as above
  n            INTEGER NOT NULL,
  PRIMARY KEY (conversation, until)
) STRICT, WITHOUT ROWID;

-- What was delivered and not yet taken up. A row moves to messages and gets its seq.
CREATE TABLE inbox (
  id           INTEGER PRIMARY KEY AUTOINCREMENT, -- the order of arrival
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  platform_id  TEXT NOT NULL CHECK (platform_id <> ''),
  author_id    TEXT NOT NULL,
  author       TEXT NOT NULL,
  text         TEXT NOT NULL,
  attachments  TEXT NOT NULL,                     -- JSON list
  reply_to     TEXT NOT NULL,                     -- platform id
  said_at      INTEGER NOT NULL,
  received_at  INTEGER NOT NULL,
  addressed    INTEGER NOT NULL,                  -- somebody wants an answer
  quote        TEXT NOT NULL DEFAULT '',          -- how the message begins to which it replies
  optional     INTEGER NOT NULL DEFAULT 0,        -- addressed, but the bot may stay silent; not addressed: answered while the bot follows the thread
  incomplete   INTEGER NOT NULL DEFAULT 0,        -- its connector can find out more
  edited_at    INTEGER,                           -- by the platform's clock
  tries        INTEGER NOT NULL DEFAULT 0,        -- attempts to complete it: its contents may have killed the process
  steers       INTEGER NOT NULL DEFAULT 0,        -- it is for the answer that is being written, if it goes on
  UNIQUE (conversation, platform_id)
) STRICT;
CREATE INDEX inbox_order ON inbox (conversation, id);
CREATE INDEX inbox_author ON inbox (author_id);

-- What was said, for ever. Edits change the text; deletions empty it.
CREATE TABLE messages (
  id           INTEGER PRIMARY KEY,                      -- conversation << 32 | seq: a conversation's messages lie together
  conversation INTEGER NOT NULL GENERATED ALWAYS AS (id >> 32) VIRTUAL REFERENCES conversations (id),
  seq          INTEGER NOT NULL GENERATED ALWAYS AS (id & 4294967295) VIRTUAL CHECK (seq > 0),
  turn         INTEGER NOT NULL,                         -- seq of the first message of its turn
  role         TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool')),
  platform_id  TEXT NOT NULL,
  author_id    TEXT NOT NULL,
  author       TEXT NOT NULL,
  text         TEXT NOT NULL,
  attachments  TEXT NOT NULL,                            -- JSON list
  reply_to     TEXT NOT NULL,                            -- platform id
  calls        TEXT NOT NULL,                            -- assistant: JSON list of the tools it called
  call_id      TEXT NOT NULL,                            -- tool: the call it answers
  tool         TEXT NOT NULL,                            -- tool: its name
  native       TEXT NOT NULL,                            -- the provider's own JSON, such as reasoning it demands back
  said_at      INTEGER NOT NULL,
  saved_at     INTEGER NOT NULL,
  addressed    INTEGER NOT NULL,                         -- somebody wants an answer
  answered     INTEGER CHECK (answered BETWEEN 0 AND 2), -- of a turn, kept by its first message: 0 waiting, 1 answered, 2 closed
  attempts     INTEGER NOT NULL,                         -- how often the turn started; kept by its first message
  tokens       INTEGER NOT NULL,                         -- what it costs in the prompt
  edited_at    INTEGER,                                  -- by the platform's clock: it tells the newer of two edits
  deleted_at   INTEGER,                                  -- the text is gone then, and the row stays
  quote        TEXT NOT NULL DEFAULT '',                 -- as in inbox; empty where reply_seq is known
  reply_seq    INTEGER NOT NULL DEFAULT 0,               -- the message it replies to; 0: it stands elsewhere
  optional     INTEGER NOT NULL DEFAULT 0,               -- as in inbox
  changed_with INTEGER,                                  -- the version that the last edit or deletion raised
  context      TEXT NOT NULL DEFAULT '',                 -- the turn context: what the model was shown behind the message
  deprived     INTEGER NOT NULL DEFAULT 0                -- its reasoning was dropped while its turn ran: calls are shown in words
) STRICT;
CREATE UNIQUE INDEX messages_platform ON messages (conversation, platform_id) WHERE role = 'user';
CREATE INDEX messages_waiting ON messages (id) WHERE answered = 0;
CREATE INDEX messages_addressed ON messages (id) WHERE addressed = 1;
CREATE INDEX messages_changed ON messages (id) WHERE changed_with IS NOT NULL;
CREATE INDEX messages_replies ON messages (conversation, platform_id) WHERE role = 'assistant' AND platform_id <> '';
CREATE INDEX messages_quotes ON messages (conversation, reply_to) WHERE quote <> '';
CREATE INDEX messages_author ON messages (author_id) WHERE role = 'user';
CREATE INDEX messages_said ON messages (conversation, said_at);
CREATE INDEX messages_context ON messages (id) WHERE context <> '';
CREATE INDEX messages_reasoning ON messages (id) WHERE native <> '';

-- Summaries, rollups and placeholders, and the attempts that made none.
CREATE TABLE compactions (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation   INTEGER NOT NULL REFERENCES conversations (id),
  trigger        TEXT NOT NULL,
  level          INTEGER NOT NULL CHECK (level BETWEEN 0 AND 12),
  from_seq       INTEGER NOT NULL CHECK (from_seq > 0),
  to_seq         INTEGER NOT NULL CHECK (to_seq >= from_seq),
  from_at        INTEGER NOT NULL,                    -- when the span's first message was said
  to_at          INTEGER NOT NULL,                    -- when its last was
  messages       INTEGER NOT NULL,                    -- how many it holds, deleted ones not counted
  parent         INTEGER REFERENCES compactions (id), -- the rollup that took its place
  children       TEXT NOT NULL,                       -- of a rollup: JSON list of the summaries it read, oldest first
  sources        TEXT NOT NULL DEFAULT '',            -- of the built-in summarizer: JSON list of the messages a rollup chooses among
  text           TEXT NOT NULL DEFAULT '',
  tokens         INTEGER NOT NULL DEFAULT 0,
  before_tokens  INTEGER NOT NULL DEFAULT 0,          -- used before it was applied
  after_tokens   INTEGER NOT NULL DEFAULT 0,          -- used after
  model          TEXT NOT NULL DEFAULT '',
  focus          TEXT NOT NULL DEFAULT '',
  error          TEXT NOT NULL DEFAULT '',            -- why it failed, for people
  created_at     INTEGER NOT NULL,
  ended_at       INTEGER,                             -- when the attempt ended: prepared, or failed
  applied_at     INTEGER,
  version        INTEGER,                             -- of the conversation, when it was applied: the rows of one version were applied together
  ended_with     INTEGER,                             -- the version with which it left the prompt: rolled up, replaced or undone; an undo brings it back
  cleared_before INTEGER,                             -- cleared_to before it was applied; NULL: it cannot be undone
  next_seq       INTEGER,                             -- of the conversation, when it was applied
  owed           INTEGER NOT NULL DEFAULT 0,          -- made without a model: one is still to make it better
  tries          INTEGER NOT NULL DEFAULT 0,          -- how often the model declined to
  tried_with     TEXT NOT NULL DEFAULT '',            -- which model it was
  kind           TEXT NOT NULL DEFAULT 'leaf' CHECK (kind IN ('leaf', 'rollup', 'placeholder')),
  made_by        TEXT NOT NULL DEFAULT 'worker' CHECK (made_by IN ('worker', 'extractive', 'emergency')),
  state          TEXT NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'prepared', 'applied', 'rolled_up', 'replaced', 'undone', 'failed', 'stale')),
  extracted      TEXT NOT NULL DEFAULT '' CHECK (extracted IN ('', 'worker', 'extractive')), -- who saved memories from its messages
  lines          TEXT NOT NULL DEFAULT '',            -- what the lines of text rest on: JSON list of {"at", "seqs", "beside", "earlier", "by", "by_id"}; empty: not known
  dropped        INTEGER NOT NULL DEFAULT 0,          -- how many lines the messages contradicted
  dropped_lines  TEXT NOT NULL DEFAULT ''             -- some of these, and those that people removed: JSON list of {"text", "why", "by", "by_id"}
) STRICT;
CREATE INDEX compactions_parent ON compactions (parent) WHERE parent IS NOT NULL;
CREATE INDEX compactions_to ON compactions (conversation, to_seq);
CREATE INDEX compactions_ended ON compactions (conversation, ended_with) WHERE ended_with IS NOT NULL;
CREATE INDEX compactions_state ON compactions (conversation, state, from_seq);
CREATE INDEX compactions_owed ON compactions (conversation) WHERE state = 'applied' AND (owed = 1 OR kind = 'placeholder');
CREATE INDEX compactions_applied ON compactions (conversation, version) WHERE version IS NOT NULL;

-- Facts from conversations.
CREATE TABLE memories (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation   INTEGER NOT NULL REFERENCES conversations (id),
  kind           TEXT NOT NULL CHECK (kind IN ('identity', 'goal', 'decision', 'todo', 'preference', 'fact', 'event', 'observation')),
  content        TEXT NOT NULL CHECK (content <> ''),
  folded         TEXT NOT NULL,                       -- content without case, accents and punctuation: the same fact is one row
  importance     REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
  speaker        TEXT NOT NULL,                       -- who said it
  about          TEXT NOT NULL,                       -- whom or what
  compaction     INTEGER REFERENCES compactions (id), -- the summary it was saved with
  said_at        INTEGER NOT NULL,
  saved_at       INTEGER NOT NULL,
  confirmed      INTEGER NOT NULL DEFAULT 1,          -- how often it was said
  state          TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'superseded', 'forgotten', 'replaced')),
  superseded_by  INTEGER REFERENCES memories (id),
  expires_at     INTEGER,                             -- it is not recalled any more; NULL: never
  pinned         INTEGER NOT NULL DEFAULT 0,          -- it neither expires nor fades
  reach          TEXT NOT NULL DEFAULT 'server' CHECK (reach IN ('channel', 'server')), -- 'server': it may be shared where memories are
  forgotten_from TEXT NOT NULL DEFAULT '' CHECK (forgotten_from IN ('', 'active', 'superseded', 'replaced')), -- its state before
  made_by        TEXT NOT NULL DEFAULT 'worker' CHECK (made_by IN ('worker', 'extractive', 'assistant', 'person')),
  fact           INTEGER NOT NULL DEFAULT 0,          -- hash of the words that count; 0: it has none
  attribute      TEXT NOT NULL DEFAULT '',            -- what it states, if that has one value at a time: "home"; '': it does not
  value          TEXT NOT NULL DEFAULT '',            -- in a few words: "Lisbon"
  slot           TEXT NOT NULL DEFAULT '',            -- the folded attribute, after the name of a thing that has it: 'home', 'kiwi: launch date'
  since          TEXT NOT NULL DEFAULT '',            -- from when it is true, or when it happens: a day, month or year
  until          TEXT NOT NULL DEFAULT '',            -- to when, as its maker says
  also           TEXT NOT NULL DEFAULT '',            -- JSON list of words by which somebody may ask for it
  by_rule        INTEGER NOT NULL DEFAULT 0,          -- superseded because a newer memory fills its slot with another value; of an active one: once that begins
  in_doubt       INTEGER NOT NULL DEFAULT 0           -- the same number in all memories that contradict each other while they are true; 0: none does
) STRICT;
CREATE UNIQUE INDEX memories_fact ON memories (conversation, folded) WHERE state = 'active';
CREATE INDEX memories_same ON memories (conversation, fact) WHERE fact <> 0;
CREATE INDEX memories_newest ON memories (conversation, state, said_at);
CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memories_slot ON memories (conversation, slot, state, since) WHERE slot <> '';

-- The messages a memory was made from.
CREATE TABLE memory_sources (
  memory  INTEGER NOT NULL REFERENCES memories (id),
  message INTEGER NOT NULL REFERENCES messages (id),
  fact    INTEGER NOT NULL DEFAULT 1, -- it says what the memory states in its fields, too
  PRIMARY KEY (memory, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_sources_message ON memory_sources (message);

-- The search index of messages.
CREATE TABLE message_terms (
  conversation INTEGER NOT NULL,
  term         TEXT NOT NULL,
  seq          INTEGER NOT NULL,
  tf           INTEGER NOT NULL, -- how often the term occurs in the message
  length       INTEGER NOT NULL, -- how many terms the message has
  PRIMARY KEY (conversation, term, seq)
) STRICT, WITHOUT ROWID;

-- The search index of memories.
CREATE TABLE memory_terms (
  term         TEXT NOT NULL, -- first: the shell searches all conversations at once
  conversation INTEGER NOT NULL,
  memory       INTEGER NOT NULL,
  tf           INTEGER NOT NULL,
  length       INTEGER NOT NULL,
  PRIMARY KEY (term, conversation, memory)
) STRICT, WITHOUT ROWID;

-- Models that turn texts into vectors, for search by meaning: the one that is used, and the one that is to replace it.
CREATE TABLE encoders (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  model      TEXT NOT NULL CHECK (model <> ''), -- with its server: "nomic-embed-text@localhost:11434/v1"
  length     INTEGER NOT NULL CHECK (length > 0), -- numbers of a vector, as the server sends it
  size       INTEGER NOT NULL CHECK (size BETWEEN 1 AND length), -- numbers of a vector, as it is stored once there is a projection
  projection BLOB,                              -- from length to size numbers; NULL: vectors are stored as they come
  complete   INTEGER NOT NULL DEFAULT 0,        -- every text had its vector at one time
  UNIQUE (model, length, size)
) STRICT;

-- The vectors of messages. A vector says what the text is about, so it is deleted with the text.
CREATE TABLE message_vectors (
  message INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
  encoder INTEGER NOT NULL REFERENCES encoders (id),
  vector  BLOB NOT NULL, -- a signed byte for each number; empty: the server refuses the text
  PRIMARY KEY (message, encoder)
) STRICT, WITHOUT ROWID;

-- The vectors of memories.
CREATE TABLE memory_vectors (
  memory  INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
  encoder INTEGER NOT NULL REFERENCES encoders (id),
  vector  BLOB NOT NULL,
  PRIMARY KEY (memory, encoder)
) STRICT, WITHOUT ROWID;

-- What was learnt about models.
CREATE TABLE models (
  name            TEXT PRIMARY KEY CHECK (name <> ''), -- with its server: "gpt-4o@api.openai.com/v1"
  window          INTEGER NOT NULL DEFAULT 0,          -- tokens, learnt downward only; 0: not learnt
  factor          REAL NOT NULL DEFAULT 1,             -- real tokens for one estimated
  refuses_tools   INTEGER NOT NULL DEFAULT 0,
  updated_at      INTEGER NOT NULL,
  scale           INTEGER NOT NULL DEFAULT 100,        -- the factor in percent, in coarse steps
  refuses_images  INTEGER NOT NULL DEFAULT 0,
  wire            TEXT NOT NULL DEFAULT '',            -- the API its server demanded
  wants_reasoning INTEGER NOT NULL DEFAULT 0,          -- of earlier turns with tool calls
  refuses_forced  INTEGER NOT NULL DEFAULT 0           -- a tool that must be called
) STRICT;

-- Pictures, to be shown to models that can see.
CREATE TABLE files (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  platform_id  TEXT NOT NULL, -- of the message it came with
  type         TEXT NOT NULL, -- media type
  data         BLOB NOT NULL
) STRICT;
CREATE INDEX files_message ON files (conversation, platform_id);

-- Messages that were deleted before they were taken up, also unknown ones: they may be delivered again.
CREATE TABLE gone (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  platform_id  TEXT NOT NULL,
  PRIMARY KEY (conversation, platform_id)
) STRICT, WITHOUT ROWID;

-- Where people paused the bot.
CREATE TABLE pauses (
  scope   TEXT PRIMARY KEY, -- a conversation's name; '': everywhere
  made_by TEXT NOT NULL,    -- who paused it
  made_at INTEGER NOT NULL,
  made_by_id TEXT NOT NULL DEFAULT '' -- their platform id; '' in rows of older versions
) STRICT, WITHOUT ROWID;

-- Pieces of replies, to be sent in this order.
CREATE TABLE outbox (
  id           INTEGER PRIMARY KEY AUTOINCREMENT, -- the order of sending
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  reply        TEXT NOT NULL CHECK (reply <> ''), -- id of the reply it is part of
  part         INTEGER NOT NULL,                  -- from 0
  parts        INTEGER NOT NULL,
  answers      TEXT NOT NULL,                     -- JSON list of the platform ids of the messages it answers
  text         TEXT NOT NULL,                     -- '' once sent or dropped
  failure      INTEGER NOT NULL,                  -- a plain sentence about a failure, not the assistant's words
  state        TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sending', 'sent', 'dropped')),
  platform_id  TEXT NOT NULL DEFAULT '',          -- once sent
  error        TEXT NOT NULL DEFAULT '',          -- why it was dropped
  created_at   INTEGER NOT NULL,
  sent_at      INTEGER,                           -- or dropped
  refusals     INTEGER NOT NULL DEFAULT 0,        -- one that is refused for ever would hold up the rest
  UNIQUE (conversation, reply, part)
) STRICT;
CREATE INDEX outbox_unsent ON outbox (conversation, id) WHERE state IN ('waiting', 'sending');
CREATE INDEX outbox_platform ON outbox (conversation, platform_id) WHERE platform_id <> '';

-- What people set with /settings, for one conversation each.
CREATE TABLE overrides (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  key          TEXT NOT NULL CHECK (key <> ''), -- of compactor.Policy
  value        TEXT NOT NULL,                   -- as people write it
  made_by      TEXT NOT NULL,                   -- the name of who set it
  made_at      INTEGER NOT NULL,
  made_by_id   TEXT NOT NULL DEFAULT '',        -- their platform id; '' in rows of older versions
  PRIMARY KEY (conversation, key)
) STRICT, WITHOUT ROWID;

-- Messages that people pinned: they stay in the prompt.
CREATE TABLE pins (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  seq          INTEGER NOT NULL CHECK (seq > 0),
  made_by      TEXT NOT NULL, -- who pinned it
  made_at      INTEGER NOT NULL,
  made_by_id   TEXT NOT NULL DEFAULT '', -- their platform id; '' in rows of older versions
  PRIMARY KEY (conversation, seq)
) STRICT, WITHOUT ROWID;

-- What lies between two /new. The current session is not here: it begins at conversations.session_start.
CREATE TABLE sessions (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  from_seq     INTEGER NOT NULL,
  to_seq       INTEGER NOT NULL CHECK (to_seq >= from_seq),
  settled      INTEGER NOT NULL, -- no work is left: one summary by a worker stands for it, or none is needed
  PRIMARY KEY (conversation, from_seq)
) STRICT, WITHOUT ROWID;

-- New sessions that begin when what was said before is taken up and answered.
CREATE TABLE wanted_sessions (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  after        INTEGER NOT NULL, -- the last row of the inbox that belongs to the session before
  wanted_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX wanted_sessions_order ON wanted_sessions (conversation, after);

-- What a thread has of the channel above it: copies of the summaries applied when its first message was taken
-- up, and of the message it belongs to.
CREATE TABLE inherited (
  conversation INTEGER NOT NULL REFERENCES conversations (id), -- the thread
  place        INTEGER NOT NULL, -- 0: the message; from 1 on the summaries, oldest first
  parent       INTEGER NOT NULL REFERENCES conversations (id),
  from_seq     INTEGER NOT NULL, -- in the parent; 0: the message waited in its inbox
  to_seq       INTEGER NOT NULL,
  from_at      INTEGER NOT NULL,
  to_at        INTEGER NOT NULL,
  kind         TEXT NOT NULL,    -- of a summary; empty: it is the message
  messages     INTEGER NOT NULL, -- how many a summary holds
  platform_id  TEXT NOT NULL,    -- of the message
  role         TEXT NOT NULL,
  author       TEXT NOT NULL,
  reply_to     TEXT NOT NULL,
  quote        TEXT NOT NULL,
  text         TEXT NOT NULL,
  attachments  TEXT NOT NULL,    -- JSON list
  tokens       INTEGER NOT NULL, -- what it costs in the prompt
  lines        TEXT NOT NULL DEFAULT '', -- of a summary, as in compactions
  PRIMARY KEY (conversation, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX inherited_rows ON inherited (parent, to_seq);
CREATE INDEX inherited_message ON inherited (parent, platform_id) WHERE platform_id <> '';
CREATE INDEX inherited_quotes ON inherited (parent, reply_to) WHERE quote <> '';

-- Who speaks where, for search.
CREATE TABLE members (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  term         TEXT NOT NULL, -- of the name, as words cuts it; empty: it has none
  name         TEXT NOT NULL,
  author_id    TEXT NOT NULL, -- of the person with that name; several may have the same
  PRIMARY KEY (conversation, term, name, author_id)
) STRICT, WITHOUT ROWID;

-- Something was deleted of which the files may still hold bytes, see upkeep.go.
CREATE TABLE unscrubbed (
  id INTEGER PRIMARY KEY AUTOINCREMENT
) STRICT;

-- Whom memories concern, by the platform's ids.
CREATE TABLE memory_people (
  memory    INTEGER NOT NULL REFERENCES memories (id),
  author_id TEXT NOT NULL CHECK (author_id <> ''),
  role      TEXT NOT NULL CHECK (role IN ('said', 'confirmed', 'about')),
  PRIMARY KEY (memory, author_id, role)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_people_author ON memory_people (author_id);

-- Who is to be left out of memories.
CREATE TABLE optouts (
  connector TEXT NOT NULL,
  author_id TEXT NOT NULL,
  name      TEXT NOT NULL, -- by which others may speak of them
  made_at   INTEGER NOT NULL,
  PRIMARY KEY (connector, author_id)
) STRICT, WITHOUT ROWID;

-- Memories that a platform shows a person in a place of their own, such as Slack's Home tab, until it shows them no more. They may be gone.
CREATE TABLE shown_memories (
  connector TEXT NOT NULL,
  author_id TEXT NOT NULL CHECK (author_id <> ''),
  memory    INTEGER NOT NULL, -- of memories
  forgotten INTEGER NOT NULL, -- it is shown as one that was forgotten, and may be restored
  opted_out INTEGER NOT NULL, -- the person had opted out of memories
  PRIMARY KEY (connector, author_id, memory)
) STRICT, WITHOUT ROWID;

-- People who want what they said to be gone, until it is, and no gap may bring more of it.
CREATE TABLE erasures (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  author_id    TEXT NOT NULL CHECK (author_id <> ''),
  before       INTEGER NOT NULL, -- messages from this seq on came later
  upto         INTEGER NOT NULL, -- the newest memory there was
  asked_at     INTEGER NOT NULL DEFAULT 0, -- what they said before then may still come with a page of the platform's history
  PRIMARY KEY (conversation, author_id)
) STRICT, WITHOUT ROWID;

-- What a turn context, or the answer of a tool, was made of: a deletion of the source removes it.
CREATE TABLE quotes (
  kind    TEXT NOT NULL CHECK (kind IN ('message', 'memory')),
  source  INTEGER NOT NULL,                          -- messages.id or memories.id
  message INTEGER NOT NULL REFERENCES messages (id), -- whose context it is
  PRIMARY KEY (kind, source, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX quotes_message ON quotes (message);

-- What models were paid for, in tokens. cached and written are parts of input.
CREATE TABLE usage (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  day          TEXT NOT NULL CHECK (day GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'), -- in time_zone
  kind         TEXT NOT NULL CHECK (kind IN ('turn', 'summary', 'embedding')),
  model        TEXT NOT NULL,
  long         INTEGER NOT NULL CHECK (long IN (0, 1)), -- the prompts were so long that the model cost more
  requests     INTEGER NOT NULL,
  input        INTEGER NOT NULL,
  cached       INTEGER NOT NULL,
  written      INTEGER NOT NULL, -- to the provider's cache
  output       INTEGER NOT NULL,
  PRIMARY KEY (conversation, day, kind, model, long)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_day ON usage (day);

-- The part of it that people asked for today, while budget_per_person is set.
CREATE TABLE person_usage (
  author_id TEXT NOT NULL CHECK (author_id <> ''),
  day       TEXT NOT NULL CHECK (day GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'), -- as above; earlier days are deleted
  model     TEXT NOT NULL,
  long      INTEGER NOT NULL CHECK (long IN (0, 1)),
  input     INTEGER NOT NULL,
  cached    INTEGER NOT NULL,
  written   INTEGER NOT NULL,
  output    INTEGER NOT NULL,
  told      INTEGER NOT NULL DEFAULT 0, -- the person knows that most of the budget is spent: the same in all rows of a person and day
  PRIMARY KEY (author_id, day, model, long)
) STRICT, WITHOUT ROWID;

-- How full the window was at the last request of each turn that a model answered.
CREATE TABLE turn_usage (
  id        INTEGER PRIMARY KEY, -- of the answer's last message
  window    INTEGER NOT NULL,    -- tokens
  used      INTEGER NOT NULL,    -- tokens of the request, with the reply's reserve
  counted   INTEGER NOT NULL,    -- tokens of its prompt, by the provider; 0: it reported none
  estimated INTEGER NOT NULL,    -- the same, estimated
  context   INTEGER NOT NULL,    -- tokens of the turn context among them, estimated
  factor    REAL NOT NULL        -- real tokens for one estimated, as it was known then
) STRICT;

-- Tasks of sub-agents: each is a conversation of its own, and reports to the one that started it.
CREATE TABLE tasks (
  id         INTEGER PRIMARY KEY, -- of its conversation
  parent     INTEGER NOT NULL REFERENCES conversations (id),
  root       INTEGER NOT NULL,    -- the conversation of people above it
  number     INTEGER NOT NULL,    -- counts the tasks of its parent
  agent      TEXT NOT NULL,
  text       TEXT NOT NULL,       -- what is to be done; '' once it had to be deleted
  began      INTEGER NOT NULL,    -- the newest message of the parent when it began
  author     TEXT NOT NULL,       -- the platform's id of who asked for it; '': the model did
  above      TEXT NOT NULL,       -- what its parent's layers set of the policy, as JSON
  own        TEXT NOT NULL,       -- what the call set, as JSON
  state      TEXT NOT NULL CHECK (state IN ('open', 'done', 'failed', 'stopped', 'expired')),
  created_at INTEGER NOT NULL,
  ended_at   INTEGER,
  chain      INTEGER NOT NULL DEFAULT 0, -- what set it off: messages.id of a message from outside, or tasks.id of the task that a command began; 0: dropped
  UNIQUE (parent, number)
) STRICT;
CREATE INDEX tasks_open ON tasks (root) WHERE state = 'open';
CREATE INDEX tasks_chain ON tasks (chain);

-- The messages of its parent that a task was made from: it is deleted with any of them.
CREATE TABLE task_sources (
  message INTEGER NOT NULL, -- messages.id
  task    INTEGER NOT NULL REFERENCES tasks (id),
  PRIMARY KEY (message, task)
) STRICT, WITHOUT ROWID;

-- Views for people who ask in SQL: names that can be read, times as text in UTC, nothing that was deleted.
-- Their columns stay when the tables change.
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

CREATE VIEW messages_view AS SELECT
  c.name AS channel, m.seq, m.turn, m.role, m.author, m.text, m.attachments, m.tool,
  nullif(m.reply_seq, 0) AS reply_to, m.addressed, m.tokens,
  datetime(m.said_at / 1000, 'unixepoch') AS said_at,
  datetime(m.edited_at / 1000, 'unixepoch') AS edited_at
FROM messages m JOIN conversations c ON c.id = m.conversation
WHERE m.deleted_at IS NULL;

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

CREATE VIEW turns_view AS SELECT
  c.name AS channel, m.seq, m.turn, u.window, u.used, nullif(u.counted, 0) AS counted, u.estimated, u.factor,
  datetime(m.said_at / 1000, 'unixepoch') AS said_at
FROM turn_usage u JOIN messages m ON m.id = u.id JOIN conversations c ON c.id = m.conversation;
