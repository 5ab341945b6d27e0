// PostgreSQL: the database is a schema on a server.

package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/store/postgres"
)

// ErrNoFile means that what was asked for needs a database in a file.
var ErrNoFile = errors.New("the database is in PostgreSQL, not in a file")

// firstVersion is the first version of the schema on PostgreSQL.
const firstVersion = 18

// withProcesses is the first version of the schema with a table of processes.
const withProcesses = 19

// additive reports whether processes of before may go on to run after migrations, as the first line of each says.
func additive(migrations []string) bool {
	return !slices.ContainsFunc(migrations, func(text string) bool { return !strings.HasPrefix(text, "-- Additive: ") })
}

// oldestPostgres is the oldest version of PostgreSQL that the store's statements need, as the server numbers it.
var oldestPostgres = 150_000

// readOnly are the parameters of connections that read: each transaction is one snapshot.
var readOnly = map[string]string{"default_transaction_isolation": "repeatable read", "default_transaction_read_only": "on"}

// inTime are the parameters of connections that write. A process that is frozen in the middle of a transaction must not keep others from
// the rows that it has locked.
var inTime = map[string]string{"idle_in_transaction_session_timeout": "5s", "lock_timeout": "20s"}

// writers are the connections that write: one for the writers that wait for each other in order, one for the lease, and one for VACUUM.
const writers = 3

// postgreSQL is the schema of a store.
type postgreSQL struct {
	store    *Store
	text     string // the address, with its password
	address  postgres.Address
	schema   string
	existing bool // there must be a schema already

	listening driver.Connector
}

func (p *postgreSQL) open(ctx context.Context) (write, read *sql.DB, err error) {
	p.address, err = postgres.Parse(p.text)
	if err != nil {
		return nil, nil, fmt.Errorf("the address of PostgreSQL %w", err)
	}
	writing, err := postgres.Connector(p.text, p.schema, inTime)
	if err != nil {
		return nil, nil, err
	}
	reading, err := postgres.Connector(p.text, p.schema, readOnly)
	if err != nil {
		return nil, nil, err
	}
	p.listening = reading
	write = sql.OpenDB(writing)
	write.SetMaxOpenConns(writers)
	read = sql.OpenDB(reading)
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	err = transact(ctx, write, toWrite, p.prepare)
	if postgres.Exists(err) { // another process has created it in between
		err = transact(ctx, write, toWrite, p.prepare)
	}
	return write, read, Fail("open "+p.place(), p.explain(err))
}

// prepare checks the server, and creates the schema or brings it up to date.
func (p *postgreSQL) prepare(tx *Tx) {
	p.checkServer(tx)
	p.checkConnection(tx)
	if tx.err != nil {
		return
	}
	if p.isEmpty(tx) {
		p.create(tx)
		return
	}
	p.upgrade(tx)
}

// checkServer checks the server, and that connections are this process's own. A standby serves processes that only read.
func (p *postgreSQL) checkServer(tx *Tx) {
	var version int
	var path string
	var standby bool
	tx.row("SELECT CAST(current_setting('server_version_num') AS BIGINT), current_setting('search_path'), pg_is_in_recovery()").Scan(&version, &path, &standby)
	switch {
	case tx.err != nil:
	case version < oldestPostgres:
		tx.Fail(fmt.Errorf("the server is PostgreSQL %d: use %d or newer", version/10_000, oldestPostgres/10_000))
	case strings.Trim(path, `"`) != p.schema:
		tx.Fail(postgres.ErrPooler)
	case standby && !p.store.shared:
		tx.Fail(errors.New("the server is a standby, which only reads: name the primary server"))
	}
}

// isEmpty reports whether the schema has no tables, or does not exist. The transaction fails if another program's are there.
func (p *postgreSQL) isEmpty(tx *Tx) bool {
	if exists(tx, "SELECT 1 FROM pg_namespace WHERE nspname = ? AND NOT has_schema_privilege(oid, 'USAGE')", p.schema) {
		words := p.lacksRight()
		if p.has(tx, "cairn") {
			words = p.lacksGrants()
		}
		tx.Fail(errors.New(words))
		return false
	}
	if p.has(tx, "cairn") {
		return false
	}
	if exists(tx, "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ?", p.schema) {
		tx.Fail(fmt.Errorf("the schema %s has tables of another program: name another schema", p.schema))
	}
	return true
}

func (p *postgreSQL) create(tx *Tx) {
	if p.existing {
		tx.Fail(fmt.Errorf("%w: there is no data yet; start the bot first, or name another schema", ErrNotFound))
		return
	}
	if !p.mayCreate(tx) {
		tx.Fail(errors.New(p.lacksRight()))
		return
	}
	if !exists(tx, "SELECT 1 FROM pg_namespace WHERE nspname = ?", p.schema) {
		tx.do(`CREATE SCHEMA "` + p.schema + `"`)
	}
	tx.do("CREATE TABLE cairn (version BIGINT NOT NULL)")
	tx.changes(postgres.Functions)
	tx.changes(postgres.Schema(schema)) // several statements
	tx.do("INSERT INTO cairn (version) VALUES (?)", len(migrations))
}

// upgrade runs the migrations that the schema lacks, in the transaction tx.
func (p *postgreSQL) upgrade(tx *Tx) {
	wantFinished(tx, !p.store.copying && p.has(tx, marker))
	version := p.version(tx)
	switch to := len(migrations); {
	case tx.err != nil || version == to:
		return
	case version > to:
		tx.Fail(fmt.Errorf("%w (version %d, this one knows %d): update cairn", ErrNewer, version, to))
	case version < firstVersion:
		tx.Fail(fmt.Errorf("the table cairn says version %d, which no cairn wrote: name another schema", version))
	case p.store.shared, p.store.copying:
		tx.Fail(errOlder)
	case version >= withProcesses && !additive(migrations[version:]) && exists(tx, "SELECT 1 FROM processes WHERE lease_until > "+clock):
		tx.Fail(fmt.Errorf("%w by processes of an older version, for which this one changes too much: stop them first; `cairn doctor` of that version lists them", ErrInUse))
	}
	p.wantOwner(tx, version, len(migrations))
	tx.do("UPDATE cairn SET version = version") // another process may upgrade it just now
	version = p.version(tx)
	if tx.err != nil || version == len(migrations) {
		return
	}
	tx.changes(postgres.Functions)
	for next := version + 1; next <= len(migrations) && tx.err == nil; next++ {
		text, err := postgres.Migration(migrations[next-1])
		tx.Fail(err)
		tx.changes(text) // several statements
		if fill := fills[next]; fill != nil {
			fill(tx)
		}
		if tx.err != nil {
			tx.err = fmt.Errorf("migrate to version %d: %w", next, tx.err)
		}
	}
	tx.do("UPDATE cairn SET version = ?", len(migrations))
	if tx.err == nil {
		p.store.log.Info("schema_upgraded", "from", version, "to", len(migrations))
	}
}

func (p *postgreSQL) close() error { return nil }

func (p *postgreSQL) place() string {
	return "schema " + p.schema + " of " + p.address.String()
}

func (p *postgreSQL) usable() error { return nil }

func (p *postgreSQL) damaged() error { return nil }

func (p *postgreSQL) inPlace() error { return nil }

func (p *postgreSQL) version(tx *Tx) int { return getValue[int](tx, "SELECT version FROM cairn") }

func (p *postgreSQL) has(tx *Tx, table string) bool {
	return exists(tx, "SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = ?", p.schema, table)
}

func (p *postgreSQL) highest(tx *Tx, table string) int64 {
	return getValue[int64](tx, "SELECT coalesce(pg_sequence_last_value(CAST(pg_get_serial_sequence(?, 'id') AS regclass)), 0)", table)
}

func (p *postgreSQL) setHighest(tx *Tx, table string, id int64) {
	getValue[int64](tx, "SELECT setval(pg_get_serial_sequence(?, 'id'), greatest(CAST(?2 AS BIGINT), 1), CAST(?2 AS BIGINT) > 0)", table, id)
}

func (p *postgreSQL) touch(tx *Tx) { tx.change("UPDATE cairn SET version = version") }

// verify does nothing: the server checks references, and pages when it reads them.
func (p *postgreSQL) verify(*Tx) {}

func (p *postgreSQL) intact(ctx context.Context) error {
	return p.store.Update(ctx, func(tx *Tx) { p.version(tx) })
}

// writtenElsewhere is always the same: other processes leave events.
func (p *postgreSQL) writtenElsewhere(context.Context) (int64, error) { return 0, nil }

func (p *postgreSQL) enter(tx *Tx, c handle, tells meaning) {
	if tx.entered[c.id] {
		return
	}
	if tx.entered == nil {
		tx.entered = make(map[int64]bool)
	}
	tx.entered[c.id] = true
	if c.epoch != 0 {
		tx.do("SELECT fence(?, ?)", c.id, c.epoch)
		return
	}
	self := int64(0)
	if lease := p.store.lease.Load(); lease != nil {
		self = lease.id
	}
	tx.do("SELECT visit(?, ?, ?)", c.id, self, int64(tells))
}

func (p *postgreSQL) notify(tx *Tx, members bool) {
	about := ""
	if members {
		about = "members"
	}
	tx.do("SELECT pg_notify(current_schema(), ?)", about)
}

func (p *postgreSQL) listen(ctx context.Context, heard func(members bool)) error {
	return postgres.Listen(ctx, p.listening, p.schema, heard)
}

func (p *postgreSQL) measure(ctx context.Context, v *Vitals) error {
	v.Free = -1
	return p.store.look(ctx, oneRead, func(tx *Tx) { v.Bytes = p.size(tx) })
}

// size returns the bytes of the tables, with their indexes.
func (p *postgreSQL) size(tx *Tx) int64 {
	return getValue[int64](tx, `SELECT CAST(coalesce(sum(pg_total_relation_size(c.oid)), 0) AS BIGINT)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relkind = 'r'`, p.schema)
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
