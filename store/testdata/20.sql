INSERT INTO shards (connector, number, count, owner, session, next_start) VALUES ('discord', 0, 1, 3, '{}', 5000);
INSERT INTO requests (id, conversation, process, kind, body, asked_at, taken, answer, outcome) VALUES (1, 1, 3, 'run', '{}', 1000, 3, '{}', '{}');
INSERT INTO taken_turns (author_id, until, n) VALUES ('u1', 61000, 1);
INSERT INTO made_calls (conversation, until, n) VALUES (1, 3600000, 2);
