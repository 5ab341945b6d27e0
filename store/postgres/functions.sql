-- What the schema of PostgreSQL has besides that of SQLite: its version, and the functions of SQLite that the store's statements use.

CREATE TABLE cairn (
  version BIGINT NOT NULL, -- of the schema
  written BIGINT NOT NULL  -- raised by each process besides the bot that writes
);

CREATE FUNCTION json_each(list TEXT) RETURNS TABLE (key TEXT, value TEXT) LANGUAGE sql IMMUTABLE ROWS 10 AS $$
  SELECT key, value FROM jsonb_each_text(CASE WHEN list LIKE '{%' THEN list::jsonb ELSE '{}' END)
  UNION ALL
  SELECT CAST(ordinality - 1 AS TEXT), value FROM jsonb_array_elements_text(CASE WHEN list LIKE '{%' THEN '[]' ELSE list::jsonb END) WITH ORDINALITY
$$;

CREATE FUNCTION instr(text TEXT, part TEXT) RETURNS INTEGER LANGUAGE sql IMMUTABLE AS $$ SELECT strpos(text, part) $$;

CREATE FUNCTION unixepoch() RETURNS BIGINT LANGUAGE sql STABLE AS $$ SELECT CAST(extract(epoch FROM now()) AS BIGINT) $$;

CREATE FUNCTION datetime(seconds BIGINT, unit TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$
  SELECT to_char(to_timestamp(seconds) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')
$$;

CREATE FUNCTION date(seconds BIGINT, unit TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$
  SELECT to_char(to_timestamp(seconds) AT TIME ZONE 'UTC', 'YYYY-MM-DD')
$$;


CREATE FUNCTION date(moment TEXT, zone TEXT) RETURNS TEXT LANGUAGE sql STABLE AS $$ SELECT to_char(now(), 'YYYY-MM-DD') $$;
