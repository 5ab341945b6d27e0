// What `cairn doctor` reports about a server of PostgreSQL.

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"cairn/store/postgres"
)

// Server is what was found out about the server of a store.
type Server struct {
	Facts    []string // in words; some begin with "warning: "
	Exists   bool     // there is a store
	Contents Copied   // of it
}

// ExamineServer looks at a PostgreSQL server and at the schema there, and changes nothing. The error says what keeps a bot from
// working; what was found before it is returned too.
func ExamineServer(ctx context.Context, address, schema string) (found Server, err error) {
	p := &postgreSQL{store: &Store{shared: true}, text: address, schema: schema, existing: true}
	p.address, err = postgres.Parse(address)
	if err != nil {
		return found, fmt.Errorf("the address of PostgreSQL %w", err)
	}
	connector, err := postgres.Connector(address, schema, nil)
	if err != nil {
		return found, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	err = transact(ctx, db, oneRead, func(tx *Tx) { p.examine(tx, &found) })
	err = errors.Join(p.explain(err), db.Close())
	return found, Fail(p.place(), err)
}

func (p *postgreSQL) examine(tx *Tx, found *Server) {
	note := func(form string, args ...any) {
		if tx.err == nil {
			found.Facts = append(found.Facts, fmt.Sprintf(form, args...))
		}
	}
	version := getValue[string](tx, "SELECT current_setting('server_version')")
	note("PostgreSQL %s at %s, which answers in %.2f ms", version, p.address, roundTrip(tx))
	p.checkServer(tx)
	p.checkConnection(tx)
	if getValue[bool](tx, "SELECT pg_is_in_recovery()") {
		tx.Fail(errors.New("the server is a standby, which only reads: name the primary server"))
	}
	p.examineEncryption(tx, note)
	p.examineDurability(tx, note)
	p.examineSchema(tx, found, note)
}

// roundTrip returns the shortest time of a statement, in milliseconds.
func roundTrip(tx *Tx) float64 {
	shortest := time.Hour
	for range 5 {
		start := time.Now()
		getValue[int](tx, "SELECT 1")
		shortest = min(shortest, time.Since(start))
	}
	return float64(shortest.Microseconds()) / 1000
}

// checkConnection fails if a pooler is between Cairn and the server.
func (p *postgreSQL) checkConnection(tx *Tx) {
	if tx.err != nil {
		return
	}
	pooled := false
	err := tx.conn.Raw(func(c any) (err error) {
		pooled, err = postgres.Pooled(tx.ctx, c)
		return err
	})
	if err == nil && pooled {
		err = postgres.ErrPooler
	}
	tx.Fail(err)
}

func (p *postgreSQL) examineEncryption(tx *Tx, note func(form string, args ...any)) {
	var encrypted bool
	var protocol string
	tx.row("SELECT ssl, coalesce(version, '') FROM pg_stat_ssl WHERE pid = pg_backend_pid()").Found(&encrypted, &protocol)
	switch {
	case encrypted:
		note("connections are encrypted with %s", protocol)
	case p.address.OverNetwork():
		note("warning: connections are not encrypted and leave this machine: remove sslmode from the address")
	default:
		note("connections are not encrypted and do not leave this machine")
	}
}

// examineDurability warns of settings with which the server may forget what it has confirmed.
func (p *postgreSQL) examineDurability(tx *Tx, note func(form string, args ...any)) {
	var commit, syncs, standbys string
	var followers int
	tx.row(`SELECT current_setting('synchronous_commit'), current_setting('fsync'), current_setting('synchronous_standby_names'),
		(SELECT count(*) FROM pg_stat_replication)`).Scan(&commit, &syncs, &standbys, &followers)
	if syncs == "off" {
		note("warning: fsync is off on the server: a crash of its machine may destroy the database")
	}
	if commit == "off" {
		note("warning: synchronous_commit is off: a crash of the server may lose messages of the last moments, which the bot has acknowledged")
	}
	followed := followers > 0 || p.address.Several()
	switch synchronous := standbys != "" && commit != "local" && commit != "off"; {
	case followed && !synchronous:
		note("warning: the standbys follow asynchronously: after a failover, messages of the last moments, which the bot has acknowledged, may be missing; " +
			"name them in synchronous_standby_names, and let synchronous_commit be on")
	case synchronous:
		note("the standbys follow synchronously: nothing that is acknowledged is lost when one takes the place of the server")
	}
}

func (p *postgreSQL) examineSchema(tx *Tx, found *Server, note func(form string, args ...any)) {
	if p.isEmpty(tx) {
		if !p.mayCreate(tx) {
			tx.Fail(errors.New(p.lacksRight()))
		}
		note("schema %s: there is none yet; the bot creates it", p.schema)
		return
	}
	p.upgrade(tx) // says what is wrong with the version; a shared store upgrades nothing
	if tx.err != nil {
		return
	}
	found.Exists = true
	c := &found.Contents
	c.Version = p.version(tx)
	c.Bytes = p.size(tx)
	tx.row(`SELECT (SELECT count(*) FROM conversations), (SELECT count(*) FROM messages WHERE deleted_at IS NULL), (SELECT count(*) FROM memories)`).
		Scan(&c.Conversations, &c.Messages, &c.Memories)
	for _, process := range tx.processes() {
		note("%s", process)
	}
	tx.describeShards(note)
	if _, owns := p.owner(tx); !owns {
		note("the user %s does not own the tables: their owner runs `cairn upgrade` after an update of Cairn, and VACUUM", p.address.User())
	}
}

// owner returns the owner of the tables, and whether the user has that user's rights.
func (p *postgreSQL) owner(tx *Tx) (name string, owns bool) {
	tx.row(`SELECT pg_get_userbyid(c.relowner), pg_has_role(c.relowner, 'USAGE') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = ? AND c.relname = 'cairn'`, p.schema).Scan(&name, &owns)
	return name, owns
}

// mayCreate reports whether the user may create the tables of a store.
func (p *postgreSQL) mayCreate(tx *Tx) bool {
	return exists(tx, `SELECT 1 WHERE CASE WHEN EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = CAST(?1 AS TEXT))
		THEN has_schema_privilege(CAST(?1 AS TEXT), 'CREATE') ELSE has_database_privilege(current_database(), 'CREATE') END`, p.schema)
}
