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
