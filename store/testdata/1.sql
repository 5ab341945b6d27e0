-- A file as the first version left it: a conversation with messages and everything else it can hold, an empty one, and one
-- with a full inbox. The other files have what later versions could also hold: each new table and each new column.
INSERT INTO conversations (id, name, origin, next_seq, generation, cleared_to, created_at) VALUES
  (1, 'terminal:general', 'live', 5, 2, 3, 10), (2, 'terminal:empty', '', 1, 0, 0, 11), (3, 'terminal:full', '', 1, 0, 0, 12);
INSERT INTO inbox (id, conversation, platform_id, author_id, author, text, attachments, reply_to, said_at, received_at, addressed) VALUES
  (7, 3, 'm1', 'u1', 'Ann', 'are you there?', '[{"kind":"image","name":"cat.png","url":"https://x.test/cat"}]', 'm0', 1000, 1001, 1);
INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to, calls, call_id, tool, native, said_at, saved_at, addressed, answered, attempts, tokens) VALUES
  (1 << 32 | 1, 1, 'user', 'm1', 'u1', 'Ann', 'I live in Turin', '', '', '', '', '', '', 1000, 1001, 0, 2, 0, 9),
  (1 << 32 | 2, 2, 'user', 'm2', 'u1', 'Ann', 'what time is it?', '', 'm1', '', '', '', '', 2000, 2001, 1, 1, 1, 10),
  (1 << 32 | 3, 2, 'assistant', 'reply-3', '', '', 'half past nine', '', '', '', '', '', '{"a":1}', 3000, 3001, 0, NULL, 0, 8),
  (1 << 32 | 4, 4, 'user', 'm4', 'u2', 'Bob', 'and now?', '', '', '', '', '', '', 4000, 4001, 1, 0, 1, 7);
INSERT INTO compactions (id, conversation, kind, made_by, state, trigger, level, from_seq, to_seq, from_at, to_at, messages, children, text, tokens, created_at, staged_at, landed_at, generation) VALUES
  (1, 1, 'leaf', 'worker', 'active', 'background', 0, 1, 1, 1000, 1000, 1, '', 'Ann lives in Turin.', 9, 5000, 5001, 5002, 1),
  (2, 1, 'leaf', 'worker', 'staged', 'background', 0, 2, 3, 2000, 3000, 2, '', 'The time was told.', 8, 5003, 5004, NULL, NULL);
INSERT INTO memories (id, conversation, kind, content, folded, importance, speaker, about, made_by, compaction, said_at, saved_at) VALUES
  (1, 1, 'fact', 'Ann lives in Turin.', 'ann lives in turin', 0.5, 'Ann', 'Ann', 'worker', 1, 1000, 5001);
INSERT INTO memory_sources (memory, message) VALUES (1, 1 << 32 | 1);
INSERT INTO message_terms (conversation, term, seq, tf, length) VALUES (1, 'turin', 1, 1, 3);
INSERT INTO memory_terms (term, conversation, memory, tf, length) VALUES ('turin', 1, 1, 1, 3);
INSERT INTO outbox (id, conversation, reply, part, parts, answers, text, failure, state, platform_id, created_at, sent_at) VALUES
  (5, 1, 'reply-3', 0, 2, '["m2"]', 'half past', 0, 'sent', 'p1', 3000, 3002),
  (6, 1, 'reply-3', 1, 2, '["m2"]', ' nine', 0, 'sending', '', 3000, NULL),
  (9, 1, 'notice-4', 0, 1, '["m4"]', 'sorry', 1, 'waiting', '', 4000, NULL);
INSERT INTO models (name, window, updated_at) VALUES ('small', 4096, 1);
