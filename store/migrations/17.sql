-- Members have the ids of the people with their names, so that a search finds the messages of a person. fillMembers fills the table.
DROP TABLE members;
CREATE TABLE members (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  term         TEXT NOT NULL,
  name         TEXT NOT NULL,
  author_id    TEXT NOT NULL,
  PRIMARY KEY (conversation, term, name, author_id)
) STRICT, WITHOUT ROWID;

-- A search finds the messages of a time.
CREATE INDEX messages_said ON messages (conversation, said_at);
