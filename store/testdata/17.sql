INSERT INTO encoders (id, model, length, size) VALUES (1, 'small@localhost', 4, 4);
INSERT INTO message_vectors (message, encoder, vector) VALUES (1 << 32 | 3, 1, x'0102037f');
INSERT INTO memory_vectors (memory, encoder, vector) VALUES (1, 1, x'0102037f');
