-- Which landing was the latest, and what stood there before it, without a look at all rows.
CREATE INDEX compactions_landed ON compactions (conversation, generation) WHERE generation IS NOT NULL;
CREATE INDEX compactions_ended  ON compactions (conversation, ended_with) WHERE ended_with IS NOT NULL;
-- Search: who speaks where.

-- By the terms of their names, as words cuts them.
CREATE TABLE members (
  conversation INTEGER NOT NULL REFERENCES conversations (id),
  term         TEXT NOT NULL,
  name         TEXT NOT NULL,
  PRIMARY KEY (conversation, term, name)
) STRICT, WITHOUT ROWID;
