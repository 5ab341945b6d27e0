package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"cairn/store"
	"cairn/store/postgres"
)

// fleetSchema is where the processes of a run have their data.
const fleetSchema = "cairn_machines"

// guard watches, with triggers in the database, that only the owner of a conversation writes there, and that nobody takes one from a
// process that runs. It does not use the epoch, by which the program does so: each connection has the name of its process.
type guard struct{ db *sql.DB }

const guardTriggers = `
CREATE TABLE guard_joined (id BIGINT, name TEXT);
CREATE TABLE guard_wrong (at TIMESTAMPTZ DEFAULT clock_timestamp(), what TEXT);

CREATE FUNCTION guard_join() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO guard_joined VALUES (NEW.id, NEW.name);
  RETURN NULL;
END $$;

CREATE FUNCTION guard_claim() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.epoch < OLD.epoch OR NEW.owner NOT IN (0, OLD.owner) AND NEW.epoch = OLD.epoch THEN
    INSERT INTO guard_wrong (what) VALUES (format('%s went from owner %s with epoch %s to owner %s with epoch %s', NEW.name, OLD.owner, OLD.epoch, NEW.owner, NEW.epoch));
  END IF;
  IF NEW.owner NOT IN (0, OLD.owner) AND EXISTS (SELECT 1 FROM processes WHERE id = OLD.owner) THEN
    INSERT INTO guard_wrong (what) VALUES (format('%s was taken by process %s from %s, which runs', NEW.name, NEW.owner, OLD.owner));
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION guard_write() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
  place TEXT;
  held TEXT;
BEGIN
  SELECT r.name, coalesce('cairn ' || j.name, 'nobody') INTO place, held FROM conversations r LEFT JOIN guard_joined j ON j.id = r.owner
    WHERE r.id = coalesce((SELECT root FROM tasks WHERE id = NEW.conversation), NEW.conversation);
  IF held <> current_setting('application_name') THEN
    INSERT INTO guard_wrong (what) VALUES (format('%s wrote row %s of %s in %s, which %s owns', current_setting('application_name'), NEW.id, TG_TABLE_NAME, place, held));
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER guard AFTER INSERT ON processes FOR EACH ROW EXECUTE FUNCTION guard_join();
CREATE TRIGGER guard AFTER UPDATE ON conversations FOR EACH ROW EXECUTE FUNCTION guard_claim();
CREATE TRIGGER guard AFTER INSERT ON messages FOR EACH ROW EXECUTE FUNCTION guard_write();
CREATE TRIGGER guard AFTER INSERT OR UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION guard_write();
CREATE TRIGGER guard AFTER INSERT OR UPDATE ON compactions FOR EACH ROW EXECUTE FUNCTION guard_write();
`

// newGuard connects, and removes the schema of an earlier run.
func newGuard(ctx context.Context, address string) (guard, error) {
	connector, err := postgres.Connector(address, fleetSchema, nil)
	if err != nil {
		return guard{}, err
	}
	g := guard{sql.OpenDB(connector)}
	return g, g.remove(ctx)
}

// watch adds the triggers to the schema.
func (g guard) watch(ctx context.Context) error {
	if _, err := g.db.ExecContext(ctx, guardTriggers); err != nil {
		return fmt.Errorf("make the triggers: %w", err)
	}
	return nil
}

// makeSchema makes the schema of the processes as this version of Cairn does.
func makeSchema(ctx context.Context, address string) error {
	data, err := store.Open(ctx, store.Options{Postgres: address, Schema: fleetSchema})
	if err != nil {
		return err
	}
	return data.Close()
}

// version returns the version of the schema.
func (g guard) version(ctx context.Context) (version int, err error) {
	err = g.db.QueryRowContext(ctx, "SELECT version FROM cairn").Scan(&version)
	return version, err
}

func (g guard) remove(ctx context.Context) error {
	_, err := g.db.ExecContext(ctx, "DROP SCHEMA IF EXISTS "+fleetSchema+" CASCADE")
	return err
}

// texts returns the first column of a query.
func (g guard) texts(ctx context.Context, query string, args ...any) (all []string, err error) {
	rows, err := g.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// running returns the names of the processes that are not stopping, the one that receives messages first.
func (g guard) running(ctx context.Context) ([]string, error) {
	return g.texts(ctx, "SELECT name FROM processes WHERE draining = 0 ORDER BY id")
}

// noted returns what the triggers have noted.
func (g guard) noted(ctx context.Context) ([]string, error) {
	return g.texts(ctx, "SELECT to_char(at AT TIME ZONE 'UTC', 'HH24:MI:SS.MS ') || what FROM guard_wrong ORDER BY at")
}

// left returns what is left to do.
func (g guard) left(ctx context.Context) ([]string, error) {
	return g.texts(ctx, `SELECT 'reply ' || o.reply || ' in ' || c.name || ' is ' || o.state FROM outbox o JOIN conversations c ON c.id = o.conversation WHERE o.state <> 'sent'
		UNION ALL SELECT c.name || ' has messages that wait' FROM conversations c WHERE EXISTS (SELECT 1 FROM inbox i WHERE i.conversation = c.id)`)
}

// questions returns the texts of all messages of people.
func (g guard) questions(ctx context.Context) ([]string, error) {
	return g.texts(ctx, "SELECT text FROM messages WHERE role = 'user'")
}

// rows returns what the database has of a conversation, for people who look for the cause of a fault.
func (g guard) rows(ctx context.Context, conversation string) (string, error) {
	all, err := g.texts(ctx, `SELECT CAST(row_to_json(c) AS TEXT) FROM conversations c WHERE name = ?1
		UNION ALL SELECT CAST(row_to_json(m) AS TEXT) FROM messages m WHERE conversation = (SELECT id FROM conversations WHERE name = ?1)
		UNION ALL SELECT CAST(row_to_json(o) AS TEXT) FROM outbox o WHERE conversation = (SELECT id FROM conversations WHERE name = ?1)`, conversation)
	return strings.Join(all, "\n"), err
}
