-- Additive: conversations that people archive. Processes of before list them with the others.

ALTER TABLE conversations ADD COLUMN archived_at INTEGER NOT NULL DEFAULT 0;
