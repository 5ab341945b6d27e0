UPDATE messages SET context = 'Ann lives in Turin.' WHERE id = 1 << 32 | 2;
INSERT INTO quotes (kind, source, message) VALUES ('message', 1 << 32 | 1, 1 << 32 | 2), ('memory', 1, 1 << 32 | 2);
INSERT INTO usage (conversation, day, kind, model, requests, input, cached, written, output) VALUES (1, '2026-03-01', 'turn', 'small', 1, 2, 3, 4, 5);
