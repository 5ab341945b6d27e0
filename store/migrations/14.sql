-- Which task or message set a task off. One of an earlier version begins a chain of its own.
ALTER TABLE tasks ADD COLUMN chain INTEGER NOT NULL DEFAULT 0;
UPDATE tasks SET chain = id;
CREATE INDEX tasks_chain ON tasks (chain);
