INSERT OR IGNORE INTO members (conversation, term, name) VALUES (1, 'ann', 'Ann');
UPDATE memories SET expires_at = 99, pinned = 1 WHERE id = 1;
UPDATE conversations SET audience = 'server' WHERE id = 1;
INSERT INTO unscrubbed (id) SELECT 77 WHERE NOT EXISTS (SELECT 1 FROM unscrubbed);
INSERT OR IGNORE INTO memory_people (memory, author_id, role) VALUES (1, 'u1', 'about');
INSERT INTO optouts (door, author_id, name, made_at) VALUES ('discord', 'u9', 'Zoe', 40);
INSERT INTO erasures (conversation, author_id, before, upto) VALUES (3, 'u9', 2, 1);
