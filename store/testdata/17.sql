INSERT INTO encoders (id, model, length, size) VALUES (1, 'a model', 2, 2);
INSERT INTO message_vectors (message, encoder, vector) SELECT id, 1, x'0102' FROM messages WHERE role = 'user';
INSERT INTO memory_vectors (memory, encoder, vector) SELECT id, 1, x'0102' FROM memories WHERE state = 'active';
