-- What the schema of PostgreSQL has besides that of SQLite: the functions of SQLite that the store's statements use, and those by which
-- processes share conversations. A new version of Cairn defines them again.

CREATE OR REPLACE FUNCTION json_each(list TEXT) RETURNS TABLE (key TEXT, value TEXT) LANGUAGE sql IMMUTABLE ROWS 10 AS $$
  SELECT key, value FROM jsonb_each_text(CASE WHEN list LIKE '{%' THEN list::jsonb ELSE '{}' END)
  UNION ALL
  SELECT CAST(ordinality - 1 AS TEXT), value FROM jsonb_array_elements_text(CASE WHEN list LIKE '{%' THEN '[]' ELSE list::jsonb END) WITH ORDINALITY
$$;

CREATE OR REPLACE FUNCTION instr(text TEXT, part TEXT) RETURNS INTEGER LANGUAGE sql IMMUTABLE AS $$ SELECT strpos(text, part) $$;

CREATE OR REPLACE FUNCTION unixepoch() RETURNS BIGINT LANGUAGE sql STABLE AS $$ SELECT CAST(extract(epoch FROM now()) AS BIGINT) $$;

CREATE OR REPLACE FUNCTION datetime(seconds BIGINT, unit TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$
  SELECT to_char(to_timestamp(seconds) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')
$$;

CREATE OR REPLACE FUNCTION date(seconds BIGINT, unit TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$
  SELECT to_char(to_timestamp(seconds) AT TIME ZONE 'UTC', 'YYYY-MM-DD')
$$;


CREATE OR REPLACE FUNCTION date(moment TEXT, zone TEXT) RETURNS TEXT LANGUAGE sql STABLE AS $$ SELECT to_char(now(), 'YYYY-MM-DD') $$;

CREATE OR REPLACE FUNCTION unixepoch(modifier TEXT) RETURNS NUMERIC LANGUAGE sql VOLATILE AS $$ SELECT extract(epoch FROM clock_timestamp()) $$;

-- Locks a conversation until the end of the transaction, and fails with the code CA001 unless its epoch is the expected one. A task
-- belongs to the conversation of people above it.
CREATE OR REPLACE FUNCTION fence(which BIGINT, expected BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
  found BIGINT;
BEGIN
  SELECT epoch INTO found FROM conversations WHERE id = coalesce((SELECT root FROM tasks WHERE id = which), which) FOR NO KEY UPDATE;
  IF found IS DISTINCT FROM expected THEN
    RAISE EXCEPTION 'conversation % has epoch %, not %', which, found, expected USING ERRCODE = 'CA001';
  END IF;
END $$;

-- Locks a conversation until the end of the transaction, and tells its owner, unless that is the process, what happens: 0, it has more
-- to do; 1, what it knows is out of date; -1, nothing. What nobody owns is to be taken up by anybody.
CREATE OR REPLACE FUNCTION visit(which BIGINT, process BIGINT, what BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
  holder BIGINT;
BEGIN
  SELECT owner INTO holder FROM conversations WHERE id = coalesce((SELECT root FROM tasks WHERE id = which), which) FOR NO KEY UPDATE;
  IF what = 0 AND (holder <> process OR holder = 0) OR what = 1 AND holder NOT IN (process, 0) THEN
    INSERT INTO events (conversation, changed) VALUES (which, what);
    PERFORM pg_notify(current_schema(), '');
  END IF;
END $$;

-- For people's queries, see docs/queries.md.

CREATE OR REPLACE FUNCTION datetime(moment TEXT, shift TEXT) RETURNS TEXT LANGUAGE sql STABLE AS $$
  SELECT to_char(CAST(moment AS TIMESTAMPTZ) AT TIME ZONE 'UTC' + CAST(shift AS INTERVAL), 'YYYY-MM-DD HH24:MI:SS')
$$;

CREATE OR REPLACE FUNCTION round(number DOUBLE PRECISION, digits INTEGER) RETURNS NUMERIC LANGUAGE sql IMMUTABLE AS $$
  SELECT pg_catalog.round(CAST(number AS NUMERIC), digits)
$$;
