INSERT INTO person_usage (author_id, day, model, long, input, cached, written, output, told) VALUES ('u1', '2026-05-08', 'large', 0, 900, 100, 10, 50, 1);
