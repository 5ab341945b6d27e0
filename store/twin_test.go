package store_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mattn/go-sqlite3"

	"cairn/store"
	"cairn/store/postgres"
	"cairn/testkit/check"
	"cairn/testkit/pgtest"
	"cairn/testkit/storetest"
)

// twins runs each statement of a store on SQLite and on PostgreSQL, and notes where their results differ: in the number of rows, in their
// order, or in a value. Both have the same rows from the start on, so whatever is made from the results is the same as well.
type twins struct {
	mu      sync.Mutex // guards differ
	differ  []string
	cluster *pgtest.Cluster
	name    string // of PostgreSQL's database
}

// openTwins opens a store in a folder, and its twin on PostgreSQL. The folder's first store makes the twin.
func (tw *twins) open(t *testing.T, dir string) *store.Store {
	t.Helper()
	s := storetest.OpenStore(t, dir)
	connect := func(pragmas string, options map[string]string) *sql.DB {
		other := check.Must(postgres.Connector(tw.cluster.Address(tw.name), storetest.Schema, options))(t)
		return sql.OpenDB(twinConnector{tw, store.SourceOf(s.Path(), pragmas), other})
	}
	s.UseConnections(connect(store.WriterPragmas, nil), connect(store.ReaderPragmas, store.ReadOnly))
	return s
}

// newTwins makes an empty database on PostgreSQL.
func newTwins(t *testing.T) *twins {
	t.Helper()
	storetest.SQLiteOnly(t, "a twin")
	return &twins{cluster: pgtest.Shared(t), name: storetest.NewDatabase(t)}
}

// wantSame fails if the twins differed.
func (tw *twins) wantSame(t *testing.T) {
	t.Helper()
	for _, difference := range tw.differ[:min(len(tw.differ), 10)] {
		t.Error(difference)
	}
}

func (tw *twins) note(query string, args []driver.NamedValue, format string, values ...any) {
	tw.mu.Lock()
	defer tw.mu.Unlock()
	var given []string
	for _, arg := range args {
		given = append(given, fmt.Sprintf("%.200s", fmt.Sprint(arg.Value)))
	}
	tw.differ = append(tw.differ, fmt.Sprintf("%s\nwith %s\n", query, strings.Join(given, ", "))+fmt.Sprintf(format, values...))
}

type twinConnector struct {
	tw     *twins
	source string
	other  driver.Connector
}

func (c twinConnector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

func (c twinConnector) Connect(ctx context.Context) (driver.Conn, error) {
	lite, err := c.Driver().Open(c.source)
	if err != nil {
		return nil, err
	}
	other, err := c.other.Connect(ctx)
	if err != nil {
		return nil, errors.Join(err, lite.Close())
	}
	return &twinConn{lite.(*sqlite3.SQLiteConn), other, c.tw}, nil
}

type twinConn struct {
	*sqlite3.SQLiteConn
	other driver.Conn
	tw    *twins
}

func (c *twinConn) Close() error { return errors.Join(c.SQLiteConn.Close(), c.other.Close()) }

// onlySQLite reports whether a statement is about SQLite itself.
func onlySQLite(query string) bool {
	return strings.Contains(query, "sqlite_schema") || strings.Contains(query, "pragma") || strings.HasPrefix(query, "PRAGMA") || strings.HasPrefix(query, "VACUUM")
}

func (c *twinConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	copied := slices.Clone(args)
	result, err := c.SQLiteConn.ExecContext(ctx, query, args)
	if onlySQLite(query) {
		return result, err
	}
	other, otherErr := c.other.(driver.ExecerContext).ExecContext(ctx, query, copied)
	switch {
	case (err == nil) != (otherErr == nil):
		c.tw.note(query, args, "SQLite: %v, PostgreSQL: %v", err, otherErr)
	case err == nil && !strings.HasPrefix(query, "BEGIN") && query != "COMMIT" && query != "ROLLBACK":
		n, _ := result.RowsAffected()
		m, _ := other.RowsAffected()
		if n != m {
			c.tw.note(query, args, "SQLite changed %d rows, PostgreSQL %d", n, m)
		}
	}
	return result, err
}

func (c *twinConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	copied := slices.Clone(args)
	rows, err := c.SQLiteConn.QueryContext(ctx, query, args)
	if onlySQLite(query) {
		return rows, err
	}
	found, err := readAll(rows, err)
	other, otherErr := c.other.(driver.QueryerContext).QueryContext(ctx, query, copied)
	otherFound, otherErr := readAll(other, otherErr)
	is := strings.Join(found.text(query), "\n")
	otherIs := strings.Join(otherFound.text(query), "\n")
	switch {
	case (err == nil) != (otherErr == nil):
		c.tw.note(query, args, "SQLite: %v, PostgreSQL: %v", err, otherErr)
	case is != otherIs:
		c.tw.note(query, args, "SQLite has\n%.600s\nPostgreSQL\n%.600s", is, otherIs)
	}
	return found, err
}

// readRows are rows that were read.
type readRows struct {
	columns []string
	values  [][]driver.Value
}

func readAll(rows driver.Rows, err error) (*readRows, error) {
	if err != nil {
		return &readRows{}, err
	}
	all := &readRows{columns: rows.Columns()}
	for {
		row := make([]driver.Value, len(all.columns))
		err := rows.Next(row)
		if errors.Is(err, io.EOF) {
			return all, rows.Close()
		}
		if err != nil {
			return all, errors.Join(err, rows.Close())
		}
		for i, value := range row {
			if bytes, ok := value.([]byte); ok {
				row[i] = slices.Clone(bytes)
			}
		}
		all.values = append(all.values, row)
	}
}

func (r *readRows) Columns() []string { return r.columns }
func (r *readRows) Close() error      { return nil }

func (r *readRows) Next(row []driver.Value) error {
	if len(r.values) == 0 {
		return io.EOF
	}
	copy(row, r.values[0])
	r.values = r.values[1:]
	return nil
}

// text returns the rows as text, in order if the query has one.
func (r *readRows) text(query string) (rows []string) {
	unordered := !strings.Contains(outermost(query), "ORDER BY")
	for _, row := range r.values {
		var columns []string
		for _, value := range row {
			text := textOf(value)
			if strings.Contains(query, "string_agg") && !strings.Contains(query, "ORDER BY") { // the store sorts them
				text = strings.Join(slices.Sorted(strings.SplitSeq(text, ",")), ",")
			}
			columns = append(columns, text)
		}
		rows = append(rows, strings.Join(columns, "|"))
	}
	if unordered {
		slices.Sort(rows)
	}
	return rows
}

// outermost returns a query without what stands in parentheses.
func outermost(query string) string {
	depth := 0
	return strings.Map(func(r rune) rune {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
			return -1
		}
		if depth > 0 {
			return -1
		}
		return r
	}, query)
}

func textOf(value driver.Value) string {
	switch v := value.(type) {
	case nil:
		return "NULL"
	case bool:
		return map[bool]string{false: "0", true: "1"}[v]
	case []byte:
		return fmt.Sprintf("%x", v)
	case float64:
		if v == math.Trunc(v) {
			return strconv.FormatInt(int64(v), 10)
		}
	}
	return fmt.Sprint(value)
}

// What a bot runs has the same results on both, after the same history.
func TestTwins(t *testing.T) {
	t.Run("the workload", func(t *testing.T) {
		tw := newTwins(t)
		work(t, tw.open(t, t.TempDir()))
		tw.wantSame(t)
	})
	t.Run("random histories of summaries", func(t *testing.T) {
		tw := newTwins(t)
		cover(t, func(dir string) *store.Store { return tw.open(t, dir) })
		tw.wantSame(t)
	})
}

// The comparison finds what means something else on PostgreSQL, and what one of the two does not know.
func TestTwinsThatDiffer(t *testing.T) {
	for query, arg := range map[string]any{
		"SELECT id FROM conversations WHERE ? << 32 > 9":          7,
		"SELECT name FROM conversations WHERE lower(name) LIKE ?": "TERMINAL:%",
		"SELECT lower(?)": "\u00c4",
		"SELECT x FROM (SELECT NULL AS x UNION ALL SELECT id FROM conversations WHERE id = ?) xs ORDER BY x": 1,
		"SELECT total_changes() WHERE ? = 1":                     1,
		"UPDATE conversations SET name = name WHERE name LIKE ?": "TERMINAL:%",
	} {
		t.Run(query, func(t *testing.T) {
			tw := newTwins(t)
			s := tw.open(t, t.TempDir())
			find(t, s, "terminal:1")
			tw.wantSame(t)
			_ = s.Update(ctx, func(tx *store.Tx) {
				if strings.HasPrefix(query, "UPDATE") {
					tx.Do(query, arg)
				} else {
					store.Each(tx, func(*sql.Rows) error { return nil }, query, arg)
				}
			})
			check.Len(t, "differences", tw.differ, 1)
		})
	}
}
