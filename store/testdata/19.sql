INSERT INTO processes (name, connectors, version, settings, started_at, lease_until) VALUES ('host:1', '[]', 'v1', 'hash', 1, 2);
INSERT INTO events (conversation, changed) VALUES (1, 1);
