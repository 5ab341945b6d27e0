-- An import stores all messages first; the compactor reads them behind.
ALTER TABLE conversations ADD COLUMN unread_from INTEGER NOT NULL DEFAULT 0;
-- The words of a memory that count, as a number: the same fact is found at the same cost among any number of memories.
ALTER TABLE memories ADD COLUMN fact INTEGER NOT NULL DEFAULT 0;
CREATE INDEX memories_same ON memories (conversation, fact) WHERE fact <> 0;
