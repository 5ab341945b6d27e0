UPDATE conversations SET following = 1, gap = 'm4', gap_again = 1, read_back = 1 WHERE id = 1;
UPDATE inbox SET quote = 'Bob: "here"', optional = 1, incomplete = 1, edited_at = 1500;
UPDATE messages SET quote = 'Ann: "I live"', reply_seq = 1, optional = 1 WHERE id = 1 << 32 | 4;
UPDATE messages SET edited_at = 2500, changed_with = 1 WHERE id = 1 << 32 | 2;
UPDATE compactions SET begun_with = 1;
INSERT INTO files (id, conversation, platform_id, type, data) VALUES (3, 1, 'm2', 'image/png', x'89504e470d0a');
INSERT INTO gone (conversation, platform_id) VALUES (3, 'm9');
INSERT INTO pauses (scope, made_by, made_at) VALUES ('terminal:full', 'Ann', 7), ('', 'Bob', 8);
INSERT INTO outbox (id, conversation, reply, part, parts, answers, text, failure, state, error, created_at, sent_at) VALUES
  (12, 1, 'reply-9', 0, 1, '[]', 'gone', 0, 'dropped', 'nobody is there', 1, 2);
