// What the errors of PostgreSQL mean, in words that people can act on.

package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"cairn/internal/network"
)

// Codes of errors that callers branch on.
const (
	DiskFull       = "53100"
	MissingRight   = "42501"
	Fenced         = "CA001" // by the function fence
	DataCorrupted  = "XX001"
	IndexCorrupted = "XX002"

	divisionByZero = "22012"
)

// Code returns the code that the server gives an error; "" if the server did not report it.
func Code(err error) string {
	var reported *pgconn.PgError
	if errors.As(err, &reported) {
		return reported.Code
	}
	return ""
}

// Exists reports whether an error says that what was to be created is there.
func Exists(err error) bool {
	return slices.Contains([]string{"23505", "42P06", "42P07"}, Code(err)) // a row, as of a catalog; a schema; a table
}

// Unanswered reports whether an error of a COMMIT leaves open whether it happened: the connection was lost, or the server stopped.
func Unanswered(err error) bool {
	var unchanged *unchangedError
	if errors.As(err, &unchanged) {
		return false
	}
	code := Code(err)
	return code == "" || strings.HasPrefix(code, "08") || strings.HasPrefix(code, "57P")
}

// Explain says in words what an error means and what to do, without a password; "" if it cannot.
func (a Address) Explain(err error) string {
	code := Code(err)
	user := a.config.User
	switch {
	case code == "28P01", code == "28000":
		return fmt.Sprintf("the server refuses the user %s: correct the password, or allow the user in the server's pg_hba.conf", user)
	case code == "3D000":
		return fmt.Sprintf("the server has no database %s: create it with CREATE DATABASE, or correct the address", a.config.Database)
	case errors.Is(err, pgconn.ErrStandbyConnection):
		return fmt.Sprintf("no server at %s is the primary: name it, or promote a standby; it is tried again", a)
	case code == "25006":
		return "the server only reads, as a standby does: name the primary server"
	case code == DiskFull:
		return "make room on the server of PostgreSQL"
	case code == "53300":
		return "the server has no free connection: raise max_connections, or end other programs; this is tried again"
	case isPooler(err):
		return pooler
	case isRefusal(err):
		return "the server does not encrypt connections, and the address demands it: switch on TLS there, or write sslmode=disable if the network is trusted"
	case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "57P"):
		return fmt.Sprintf("the server at %s stops, starts or closed the connection: it is tried again", a)
	case code != "":
		return ""
	case errors.Is(err, context.Canceled):
		return ""
	}
	if errors.Is(err, syscall.ENOENT) {
		return fmt.Sprintf("nothing listens at %s: start the server, or correct the address", a)
	}
	if words := network.Explain(a.String(), err); words != nil {
		return words.Error()
	}
	if isLost(err) {
		return fmt.Sprintf("the connection to %s was lost: it is tried again", a)
	}
	return ""
}

// pooler says what a pooler such as PgBouncer must not do.
const pooler = "a pooler such as PgBouncer is between Cairn and the server, and gives each transaction another connection: name the address of PostgreSQL itself"

// ErrPooler means that connections do not belong to this process alone.
var ErrPooler = errors.New(pooler)

// isPooler reports whether a pooler refuses the parameters of a connection.
func isPooler(err error) bool {
	var reported *pgconn.PgError
	return errors.As(err, &reported) && strings.Contains(reported.Message, "unsupported startup parameter")
}

func isRefusal(err error) bool {
	return err != nil && strings.Contains(err.Error(), "server refused TLS connection")
}

// isLost reports whether the connection ended in the middle.
func isLost(err error) bool {
	var op *net.OpError
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.As(err, &op)
}
