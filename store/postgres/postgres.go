// Package postgres connects to PostgreSQL with the statements of package store, which are SQLite's where the two differ in
// form: it numbers their parameters, and gives the schema the few functions of SQLite that they use.
package postgres

import (
	"context"
	"database/sql/driver"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// connector connects to a schema of a PostgreSQL database. Its connections take the store's statements.
type connector struct{ driver.Connector }

// Connector describes connections to a schema; options are run-time parameters of the server.
func Connector(address, schema string, options map[string]string) (driver.Connector, error) {
	a, err := Parse(address)
	if err != nil {
		return nil, err
	}
	config := a.config
	attend(config)
	config.RuntimeParams["search_path"] = schema
	config.RuntimeParams["jit"] = "off" // compiling takes longer than the statements of a bot
	maps.Copy(config.RuntimeParams, options)
	return connector{stdlib.GetConnector(*config, stdlib.OptionAfterConnect(func(_ context.Context, conn *pgx.Conn) error {
		types := conn.TypeMap()
		types.TryWrapEncodePlanFuncs = append([]pgtype.TryWrapEncodePlanFunc{flagAsNumber}, types.TryWrapEncodePlanFuncs...)
		return nil
	}))}, nil
}

func (p connector) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: c.(*stdlib.Conn)}, nil
}

// flagAsNumber encodes a bool for a column of numbers, where the tables keep flags.
func flagAsNumber(value any) (plan pgtype.WrappedEncodePlanNextSetter, next any, ok bool) {
	if flag, ok := value.(bool); ok {
		return &flagPlan{}, numberOf(flag), true
	}
	return nil, nil, false
}

type flagPlan struct{ next pgtype.EncodePlan }

func (p *flagPlan) SetNext(next pgtype.EncodePlan) { p.next = next }

func (p *flagPlan) Encode(value any, buf []byte) ([]byte, error) {
	return p.next.Encode(numberOf(value.(bool)), buf)
}

func numberOf(flag bool) int64 {
	if flag {
		return 1
	}
	return 0
}

// rebind numbers the parameters of a statement: ? and ?1 become $1. Question marks in text stay.
func rebind(query string) string {
	if query == "BEGIN IMMEDIATE" {
		return "BEGIN"
	}
	var out strings.Builder
	highest := 0
	quoted := false
	for i := 0; i < len(query); i++ {
		c := query[i]
		if c == '\'' {
			quoted = !quoted
		}
		if c != '?' || quoted {
			out.WriteByte(c)
			continue
		}
		digits := i + 1
		for digits < len(query) && query[digits] >= '0' && query[digits] <= '9' {
			digits++
		}
		number, err := strconv.Atoi(query[i+1 : digits])
		if err != nil {
			number = highest + 1
		}
		highest = max(highest, number)
		fmt.Fprintf(&out, "$%d", number)
		i = digits - 1
	}
	return out.String()
}
