-- When a person asked to be forgotten: what they said before may still come with a page of the platform's history.
ALTER TABLE erasures ADD COLUMN asked_at INTEGER NOT NULL DEFAULT 0;

-- The text of a piece is not kept once it was sent or dropped.
INSERT INTO unscrubbed (id) SELECT coalesce(max(u.id) + 1, 1) FROM outbox o LEFT JOIN unscrubbed u
  WHERE o.state IN ('sent', 'dropped') AND o.text <> '' HAVING count(*) > 0;
UPDATE outbox SET text = '' WHERE state IN ('sent', 'dropped') AND text <> '';
