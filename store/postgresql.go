// PostgreSQL: the database is a schema on a server.

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"cairn/store/postgres"
)

// Errors of PostgreSQL that callers branch on.
var ErrNoFile = errors.New("the database is in PostgreSQL, not in a file")

// oldestPostgres is the oldest version of PostgreSQL that the store's statements need, as the server numbers it.
const oldestPostgres = 150_000

// readOnly are the parameters of connections that read: each transaction is one snapshot.
var readOnly = map[string]string{"default_transaction_isolation": "repeatable read", "default_transaction_read_only": "on"}

// postgreSQL is the schema of a store.
type postgreSQL struct {
	store   *Store
	address string
	schema  string
}

func (p *postgreSQL) open(ctx context.Context) (write, read *sql.DB, err error) {
	write, err = p.connect(nil)
	if err != nil {
		return nil, nil, err
	}
	read, err = p.connect(readOnly)
	if err != nil {
		return nil, nil, errors.Join(err, write.Close())
	}
	write.SetMaxOpenConns(1)
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	err = transact(ctx, write, toWrite, p.prepare)
	return write, read, Fail("open "+p.place(), p.explain(err))
}

func (p *postgreSQL) connect(options map[string]string) (*sql.DB, error) {
	connector, err := postgres.Connector(p.address, p.schema, options)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// prepare checks the server, and creates the schema or checks its version.
func (p *postgreSQL) prepare(tx *Tx) {
	var version int
	var path string
	tx.row("SELECT CAST(current_setting('server_version_num') AS BIGINT), current_setting('search_path')").Scan(&version, &path)
	switch {
	case tx.err != nil:
		return
	case version < oldestPostgres:
		tx.Fail(fmt.Errorf("the server is PostgreSQL %d: use 15 or newer", version/10_000))
		return
	case strings.Trim(path, `"`) != p.schema:
		tx.Fail(errors.New("a pooler such as PgBouncer ignores what a connection sets: name the address of PostgreSQL itself"))
		return
	}
	if !exists(tx, "SELECT 1 FROM pg_namespace WHERE nspname = ?", p.schema) {
		p.create(tx)
		return
	}
	if !exists(tx, "SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = 'cairn'", p.schema) {
		if exists(tx, "SELECT 1 FROM pg_tables WHERE schemaname = ?", p.schema) {
			tx.Fail(fmt.Errorf("the schema %s has tables of another program: name another schema", p.schema))
			return
		}
		p.create(tx)
		return
	}
	switch version := p.version(tx); {
	case version > len(migrations):
		tx.Fail(fmt.Errorf("%w (version %d, this one knows %d): update cairn", ErrNewer, version, len(migrations)))
	case version < len(migrations):
		tx.Fail(fmt.Errorf("the database has version %d of the schema, and cairn cannot upgrade it yet", version))
	}
}

func (p *postgreSQL) create(tx *Tx) {
	if p.store.shared {
		tx.Fail(fmt.Errorf("%w: there is no data yet; start the bot first", ErrNotFound))
		return
	}
	tx.do(`CREATE SCHEMA IF NOT EXISTS "` + p.schema + `"`)
	tx.changes(postgres.Schema(schema)) // several statements
	tx.do("INSERT INTO cairn (version, written) VALUES (?, 0)", len(migrations))
}

func (p *postgreSQL) close() error { return nil }

func (p *postgreSQL) place() string {
	return "schema " + p.schema + " of " + postgres.Describe(p.address)
}

func (p *postgreSQL) usable() error { return nil }

func (p *postgreSQL) inPlace() error { return nil }

func (p *postgreSQL) explain(err error) error { return err }

func (p *postgreSQL) version(tx *Tx) int { return getValue[int](tx, "SELECT version FROM cairn") }

func (p *postgreSQL) touch(tx *Tx) { tx.change("UPDATE cairn SET version = version") }

// verify does nothing: the server checks references, and pages when it reads them.
func (p *postgreSQL) verify(*Tx) {}

func (p *postgreSQL) intact(ctx context.Context) error {
	return p.store.look(ctx, oneRead, func(tx *Tx) { p.version(tx) })
}

func (p *postgreSQL) writtenElsewhere(ctx context.Context) (number int64, err error) {
	err = p.store.look(ctx, oneRead, func(tx *Tx) { number = getValue[int64](tx, "SELECT written FROM cairn") })
	return number, err
}

func (p *postgreSQL) tell(tx *Tx) { tx.change("UPDATE cairn SET written = written + 1") }

func (p *postgreSQL) measure(ctx context.Context, v *Vitals) error {
	return p.store.look(ctx, oneRead, func(tx *Tx) {
		v.Bytes = getValue[int64](tx, `SELECT CAST(coalesce(sum(pg_total_relation_size(c.oid)), 0) AS BIGINT)
			FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relkind = 'r'`, p.schema)
	})
}

func (p *postgreSQL) backup(context.Context, string) (c Copied, err error) {
	return c, fmt.Errorf("%w: make a backup with `pg_dump --schema=%s`", ErrNoFile, p.schema)
}

// keepBackup makes none: the server's owner does.
func (p *postgreSQL) keepBackup(context.Context, Backups, time.Time) error { return nil }

// vacuum gives the space of deleted rows free. Their text stays until the server writes over it, as docs/machines.md says.
func (p *postgreSQL) vacuum(ctx context.Context) error {
	tables, err := selectAlone(ctx, p.store, scanOne[string], "SELECT tablename FROM pg_tables WHERE schemaname = ? ORDER BY tablename", p.schema)
	for _, table := range tables {
		if err == nil {
			_, err = p.store.write.ExecContext(ctx, `VACUUM "`+table+`"`)
		}
	}
	return err
}

func (p *postgreSQL) erase(ctx context.Context, _ Backups) error {
	newest := int64(0)
	err := p.store.look(ctx, oneRead, func(tx *Tx) { newest = getValue[int64](tx, "SELECT coalesce(max(id), 0) FROM unscrubbed") })
	if err == nil {
		err = p.vacuum(ctx)
	}
	if err != nil {
		return fmt.Errorf("vacuum the tables: %w", err)
	}
	return p.store.set(ctx, "note that the tables were vacuumed", "DELETE FROM unscrubbed WHERE id <= ?", newest)
}
