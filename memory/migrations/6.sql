-- A worker's summary of a message that was edited since is shown until a model has repaired it.
DROP TRIGGER segment_row_added;
DROP TRIGGER segment_row_changed;
CREATE TRIGGER segment_row_added AFTER INSERT ON compactions BEGIN
  UPDATE segments SET settled = (SELECT count(*) < 2 AND NOT coalesce(max(kind = 'marker' OR made_by = 'built-in' OR owed), 0) FROM compactions
    WHERE conversation = NEW.conversation AND state = 'active' AND from_seq BETWEEN segments.from_seq AND segments.to_seq)
  WHERE conversation = NEW.conversation AND to_seq >= NEW.from_seq
    AND from_seq = (SELECT max(from_seq) FROM segments WHERE conversation = NEW.conversation AND from_seq <= NEW.from_seq);
END;
CREATE TRIGGER segment_row_changed AFTER UPDATE OF state ON compactions BEGIN
  UPDATE segments SET settled = (SELECT count(*) < 2 AND NOT coalesce(max(kind = 'marker' OR made_by = 'built-in' OR owed), 0) FROM compactions
    WHERE conversation = NEW.conversation AND state = 'active' AND from_seq BETWEEN segments.from_seq AND segments.to_seq)
  WHERE conversation = NEW.conversation AND to_seq >= NEW.from_seq
    AND from_seq = (SELECT max(from_seq) FROM segments WHERE conversation = NEW.conversation AND from_seq <= NEW.from_seq);
END;

-- A change of what a job reads makes its row stale at once: nothing is compared any more.
ALTER TABLE compactions DROP COLUMN begun_with;

-- quotes says of the answers of tools, too, what they were made of: those outlast the head.
DROP TRIGGER conversations_head;
CREATE TRIGGER conversations_head AFTER UPDATE OF generation ON conversations WHEN new.generation <> old.generation BEGIN
  DELETE FROM quotes WHERE message IN (SELECT id FROM messages INDEXED BY messages_context
    WHERE id BETWEEN new.id << 32 AND new.id << 32 | 4294967295 AND context <> '');
  UPDATE messages SET context = '' WHERE id BETWEEN new.id << 32 AND new.id << 32 | 4294967295 AND context <> '';
END;
