-- How full the window was at the last request of each turn that a model answered: for the
-- history of a conversation, and to simulate it with what its provider counted. No text.
CREATE TABLE turn_usage (
  id INTEGER PRIMARY KEY, -- of the answer's last message
  window INTEGER NOT NULL, -- tokens
  used INTEGER NOT NULL, -- tokens of the request, with the reply's reserve
  counted INTEGER NOT NULL, -- tokens of its prompt, by the provider; 0: it reported none
  estimated INTEGER NOT NULL, -- the same, estimated
  context INTEGER NOT NULL, -- tokens of the turn context among them, estimated
  factor REAL NOT NULL -- real tokens for one estimated, as it was known then
) STRICT;

CREATE VIEW turns_view AS SELECT
  c.name AS channel, m.seq, m.turn, u.window, u.used, nullif(u.counted, 0) AS counted, u.estimated, u.factor,
  datetime(m.said_at / 1000, 'unixepoch') AS said_at
FROM turn_usage u JOIN messages m ON m.id = u.id JOIN conversations c ON c.id = m.conversation;

-- When an attempt at a summary ended: it is prepared then, or it failed.
ALTER TABLE compactions RENAME COLUMN prepared_at TO ended_at;
