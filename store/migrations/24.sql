-- Additive: what people see of memories in a place of their own. Processes of before do not note it.

CREATE TABLE shown_memories (
  connector TEXT NOT NULL,
  author_id TEXT NOT NULL CHECK (author_id <> ''),
  memory    INTEGER NOT NULL,
  forgotten INTEGER NOT NULL,
  opted_out INTEGER NOT NULL,
  PRIMARY KEY (connector, author_id, memory)
) STRICT, WITHOUT ROWID;
