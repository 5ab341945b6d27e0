UPDATE models SET scale = 120, refuses_images = 1;
UPDATE conversations SET counted = 900, counted_estimate = 800, counted_by = 'small', counted_with = 2, spared_from = 2, spared_to = 3 WHERE id = 1;
INSERT INTO overrides (conversation, key, value, made_by, made_at) VALUES (1, 'keep_last_n', '20', 'Ann', 9);
INSERT INTO pins (conversation, seq, made_by, made_at) VALUES (1, 2, 'Ann', 10);
INSERT INTO conversations (id, name, origin, next_seq, generation, segment_start, created_at) VALUES (4, 'discord:1/10', 'live', 4, 1, 3, 20), (5, 'discord:1/10/11', 'live', 1, 0, 1, 21);
INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to, calls, call_id, tool, native, said_at, saved_at, addressed, answered, attempts, tokens) VALUES
  (4 << 32 | 1, 1, 'user', 'd1', 'u3', 'Cleo', 'old', '', '', '', '', '', '', 1000, 1001, 0, 2, 0, 9),
  (4 << 32 | 2, 2, 'user', 'd2', 'u3', 'Cleo', 'older', '', '', '', '', '', '', 1000, 1001, 0, 2, 0, 9),
  (4 << 32 | 3, 3, 'user', 'd3', 'u3', 'Cleo', 'new', '', '', '', '', '', '', 1000, 1001, 0, 2, 0, 9);
INSERT INTO segments (conversation, from_seq, to_seq, settled) VALUES (4, 1, 2, 0);
INSERT INTO compactions (id, conversation, kind, made_by, state, trigger, level, from_seq, to_seq, from_at, to_at, messages, children, text, tokens, created_at, staged_at, landed_at, generation, cleared_before, next_seq) VALUES
  (3, 4, 'marker', 'emergency', 'active', 'new', 0, 1, 2, 1000, 1000, 2, '', '', 0, 5, 5, 5, 1, 0, 3);
INSERT INTO wanted_segments (id, conversation, after, wanted_at) VALUES (2, 3, 7, 30);
INSERT INTO inherited (conversation, place, parent, from_seq, to_seq, from_at, to_at, kind, messages, platform_id, role, author, reply_to, quote, text, attachments, tokens) VALUES
  (5, 0, 4, 3, 3, 1000, 1000, '', 1, 'd3', 'user', 'Cleo', '', '', 'new', '', 9), (5, 1, 4, 1, 2, 1000, 1000, 'marker', 2, '', '', '', '', '', '', '', 5);
