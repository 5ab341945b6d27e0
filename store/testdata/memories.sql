-- Memories as the third version stored them, in all states.
INSERT INTO conversations (id, name, origin, next_seq, created_at) VALUES (1, 'discord:1/10', 'live', 4, 10);
INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to, calls, call_id, tool, native, said_at, saved_at, addressed, answered, attempts, tokens) VALUES
  (1 << 32 | 1, 1, 'user', 'm1', 'u1', 'Ann', 'I live in Turin', '', '', '', '', '', '', 1000, 1001, 0, 2, 0, 9),
  (1 << 32 | 2, 2, 'user', 'm2', 'u2', 'Bob', 'I row', '', '', '', '', '', '', 2000, 2001, 0, 2, 0, 9),
  (1 << 32 | 3, 3, 'assistant', '', '', '', 'fine', '', '', '', '', '', '', 3000, 3001, 0, NULL, 0, 9);
INSERT INTO memories (id, conversation, kind, content, folded, importance, speaker, about, made_by, said_at, saved_at, state, superseded_by) VALUES
  (1, 1, 'fact', 'Ann lives in Turin.', 'ann lives in turin', 0.5, 'Ann', 'Bob', 'worker', 1000, 5001, 'active', NULL),
  (2, 1, 'fact', 'Ann lives in Oslo.', 'ann lives in oslo', 0.5, 'Ann', 'Ann', 'worker', 1000, 5001, 'superseded', 1),
  (3, 1, 'fact', 'Bob rows.', 'bob rows', 0.5, 'Bob', 'Bob', 'person', 2000, 5001, 'forgotten', NULL),
  (4, 1, 'fact', 'Ann rows.', 'ann rows', 0.5, 'Ann', 'Ann', 'built-in', 2000, 5001, 'forgotten', 1),
  (5, 1, 'fact', 'Bob swims.', 'bob swims', 0.5, '', '', 'assistant', 2000, 5001, 'replaced', NULL);
INSERT INTO memory_sources (memory, message) VALUES (1, 1 << 32 | 1), (1, 1 << 32 | 2), (2, 1 << 32 | 1), (5, 1 << 32 | 3);
PRAGMA user_version = 3;
