// Notices between the processes of one schema.

package postgres

import (
	"context"
	"database/sql/driver"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Listen calls heard each time that a process notifies a schema, until the connection is lost or ctx ends. It returns why. What was
// notified before it began may have been missed.
func Listen(ctx context.Context, c driver.Connector, schema string, heard func(members bool)) error {
	connected, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	defer connected.Close()
	conn := connected.(*Conn).Conn.Conn()
	_, err = conn.Exec(ctx, "LISTEN "+pgx.Identifier{schema}.Sanitize())
	if err == nil {
		heard(true)
	}
	for err == nil {
		var notice *pgconn.Notification
		notice, err = conn.WaitForNotification(ctx)
		if err == nil {
			heard(notice.Payload != "")
		}
	}
	return err
}

// Pooled reports whether a connection of database/sql, given by its Raw, ends at a pooler instead of the server.
func Pooled(ctx context.Context, c any) (pooled bool, err error) {
	var pid uint32
	conn := c.(*Conn).Conn.Conn()
	err = conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid)
	return pid != conn.PgConn().PID(), err
}
