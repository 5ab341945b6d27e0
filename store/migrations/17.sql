-- A search finds the messages of a time.
CREATE INDEX messages_said ON messages (conversation, said_at);
