// One process at a time: a lock that belongs to the connection which writes.

package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"hash/fnv"
	"time"
)

// TakenError means that another process has the lock of a schema.
type TakenError struct {
	By string // its name, "cairn HOST:PID"; empty: unknown
}

func (e *TakenError) Error() string {
	if e.By == "" {
		return "another process uses the schema"
	}
	return fmt.Sprintf("the process %q uses the schema", e.By)
}

// alone connects with the lock of a schema.
type alone struct {
	connector
	key int64
}

// Alone returns connections of which one process has one at a time, by a lock of the schema. The lock ends with the connection,
// so nothing can be written without it: a process that lost it must connect again, and gets a *TakenError if another was faster.
func Alone(c driver.Connector, schema string) driver.Connector {
	key := fnv.New64a()
	key.Write([]byte("cairn" + schema))
	return alone{c.(connector), int64(key.Sum64())}
}

func (a alone) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := a.connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	var taken *TakenError
	err = a.lock(ctx, c.(*Conn))
	for waited := time.Duration(0); errors.As(err, &taken) && waited < handover; waited += again {
		select {
		case <-time.After(again):
			err = a.lock(ctx, c.(*Conn))
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// The server needs a moment to notice that the process that had the lock, or an earlier connection of this one, has ended.
const (
	handover = 3 * time.Second
	again    = 100 * time.Millisecond
)

func (a alone) lock(ctx context.Context, c *Conn) error {
	conn := c.Conn.Conn()
	var pid uint32
	var locked bool
	err := conn.QueryRow(ctx, "SELECT pg_backend_pid(), pg_try_advisory_lock($1)", a.key).Scan(&pid, &locked)
	switch {
	case err != nil:
		return err
	case pid != conn.PgConn().PID(): // the lock would belong to a connection of the pooler
		return ErrPooler
	case locked:
		return nil
	}
	taken := new(TakenError)
	err = conn.QueryRow(ctx, `SELECT coalesce(max(application_name), '') FROM pg_locks l JOIN pg_stat_activity a USING (pid)
		WHERE locktype = 'advisory' AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND classid = CAST($1 AS BIGINT) AND objid = CAST($2 AS BIGINT) AND objsubid = 1 AND granted`,
		int64(uint64(a.key)>>32), int64(uint32(a.key))).Scan(&taken.By)
	if err != nil {
		return err
	}
	return taken
}

// Pooled reports whether a connection of database/sql, given by its Raw, ends at a pooler instead of the server.
func Pooled(ctx context.Context, c any) (pooled bool, err error) {
	var pid uint32
	conn := c.(*Conn).Conn.Conn()
	err = conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid)
	return pid != conn.PgConn().PID(), err
}
