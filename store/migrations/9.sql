-- Tasks of sub-agents: each is a conversation of its own, and reports to the one it was begun in.
CREATE TABLE tasks (
  id INTEGER PRIMARY KEY, -- of its conversation
  parent INTEGER NOT NULL REFERENCES conversations (id),
  root INTEGER NOT NULL, -- the conversation of people above it
  number INTEGER NOT NULL, -- counts the tasks of its parent
  agent TEXT NOT NULL,
  text TEXT NOT NULL, -- what is to be done; '' once it had to be deleted
  began INTEGER NOT NULL, -- the newest message of the parent when it began
  author TEXT NOT NULL, -- the platform's id of who asked for it; '': the model did
  above TEXT NOT NULL, -- what its parent's layers set of the policy, as JSON
  own TEXT NOT NULL, -- what the call set, as JSON
  state TEXT NOT NULL CHECK (state IN ('open', 'done', 'failed', 'stopped', 'expired')),
  created_at INTEGER NOT NULL,
  ended_at INTEGER,
  UNIQUE (parent, number)
) STRICT;
CREATE INDEX tasks_open ON tasks (root) WHERE state = 'open';

-- The messages of its parent that a task was made from: it is deleted with any of them.
CREATE TABLE task_sources (
  message INTEGER NOT NULL, -- messages.id
  task INTEGER NOT NULL REFERENCES tasks (id),
  PRIMARY KEY (message, task)
) STRICT, WITHOUT ROWID;
