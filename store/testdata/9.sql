INSERT INTO tasks (id, parent, root, number, agent, text, began, author, above, own, state, created_at) VALUES (5, 4, 4, 1, 'one', 'count', 3, 'u3', '{}', '{}', 'open', 7);
INSERT INTO task_sources (message, task) VALUES (4 << 32 | 3, 5);
