-- Copies of vectors in memory are out of date when one was deleted, by whatever path.
ALTER TABLE conversations ADD COLUMN vectors_deleted INTEGER NOT NULL DEFAULT 0; -- vectors of messages that were deleted: copies of them in memory are out of date
CREATE TRIGGER message_vectors_deleted AFTER DELETE ON message_vectors BEGIN
  UPDATE conversations SET vectors_deleted = vectors_deleted + 1 WHERE id = old.message >> 32;
END;

-- A message may support the text of a memory, and not what the memory states in its fields.
ALTER TABLE memory_sources ADD COLUMN fact INTEGER NOT NULL DEFAULT 1; -- it says what the memory states in its fields, too
