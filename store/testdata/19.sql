INSERT INTO processes (id, name, connectors, version, settings, started_at, lease_until, draining) VALUES (3, 'host:7', '[{"name":"discord","account":"1","alone":false}]', '1.0', 'abc', 1000, 7000, 1);
INSERT INTO events (id, conversation, changed) VALUES (5, 1, 1);
UPDATE conversations SET owner = 3, epoch = 2 WHERE id = 1;
