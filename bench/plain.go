package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"time"

	_ "github.com/mattn/go-sqlite3" // the engine that memory uses
)

// What keeping turns costs whoever keeps them: the rows of a database of ours, written
// once more by plain statements.

// plainPragmas are those of the connection that writes in memory.
const plainPragmas = "_journal_mode=WAL&_busy_timeout=5000&_foreign_keys=on&_synchronous=FULL&_secure_delete=on"

// copyist writes the turns of a database of ours into another one, in the transactions of
// a turn.
type copyist struct {
	from, to *sql.DB
	w        *plainWriter
	since    int64 // milliseconds; what was saved up to then has been read
}

// newCopyist copies the database at path, as it stands, into a new one beside it.
func newCopyist(ctx context.Context, path string) (c *copyist, err error) {
	c = &copyist{}
	if c.from, err = openPlain(path); err == nil {
		c.to, err = openPlain(path + ".plain")
	}
	if err == nil {
		err = copySchema(ctx, c.from, c.to)
	}
	if err == nil {
		c.w, err = newPlainWriter(ctx, c.to)
	}
	if err == nil {
		_, err = c.copy(ctx)
	}
	if err != nil {
		err = errors.Join(err, c.close())
	}
	return c, err
}

// copy writes what has come since the last time, and returns what that cost.
func (c *copyist) copy(ctx context.Context) (cost time.Duration, err error) {
	turns, err := c.readTurns(ctx)
	if err != nil {
		return 0, err
	}
	runtime.GC()                     // what the reading left is no business of the writes
	ctx = context.WithoutCancel(ctx) // with an end, the driver would start a goroutine for each statement
	begun := cpuTime()
	for _, t := range turns {
		if err := c.w.turn(ctx, t); err != nil {
			return 0, err
		}
	}
	return cpuTime() - begun, nil
}

func (c *copyist) close() error {
	var errs []error
	if c.w != nil {
		errs = append(errs, c.w.conn.Close()) // or its database would stay open
	}
	for _, db := range []*sql.DB{c.from, c.to} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

func openPlain(path string) (*sql.DB, error) {
	name := url.URL{Scheme: "file", Path: path, RawQuery: plainPragmas + "&mode=rwc"}
	db, err := sql.Open("sqlite3", name.String())
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// copySchema makes the tables, and a row for each conversation.
func copySchema(ctx context.Context, from, to *sql.DB) error {
	made, err := texts(ctx, from, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY type = 'index', rowid")
	if err != nil {
		return err
	}
	for _, statement := range made {
		if _, err := to.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%.60s: %w", statement, err)
		}
	}
	names, err := texts(ctx, from, "SELECT name FROM conversations ORDER BY id")
	for _, name := range names {
		if err == nil {
			_, err = to.ExecContext(ctx, "INSERT INTO conversations (name, created_at) VALUES (?, 0)", name)
		}
	}
	return err
}

func texts(ctx context.Context, db *sql.DB, query string) (all []string, err error) {
	err = rowsOf(ctx, db, query, func(row []any) { all = append(all, fmt.Sprint(row[0])) })
	return all, err
}

// rowsOf calls f with each row of a query.
func rowsOf(ctx context.Context, db *sql.DB, query string, f func(row []any)) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		f(row)
	}
	return rows.Err()
}

// plainTurn is what a turn leaves behind.
type plainTurn struct {
	conversation any
	question     plainMessage
	others       []plainMessage // what the bot and its tools said
	pieces       [][]any        // of the reply
}

type plainMessage struct {
	row   []any
	terms [][]any
}

// The columns that are written, those of messages first by what is looked at here.
var (
	messageColumns = strings.Fields(`id turn role platform_id author_id author text attachments reply_to quote said_at saved_at
		addressed optional calls call_id tool native answered attempts tokens reply_seq`)
	pieceColumns = strings.Fields("conversation reply part parts answers text failure created_at")
	inboxColumns = strings.Fields("conversation platform_id author_id author text attachments reply_to quote said_at received_at addressed optional")
)

// readTurns reads the turns that have come, in the order in which they ended.
func (c *copyist) readTurns(ctx context.Context) ([]*plainTurn, error) {
	turns := map[[2]any]*plainTurn{} // by conversation and turn
	terms := map[[2]any][][]any{}    // by conversation and seq
	var inOrder []*plainTurn
	replies := map[[2]any]*plainTurn{}
	since := c.since
	err := rowsOf(ctx, c.from, "SELECT conversation, seq, term, tf, length FROM message_terms", func(row []any) {
		at := [2]any{row[0], row[1]}
		terms[at] = append(terms[at], []any{row[0], row[2], row[1], row[3], row[4]})
	})
	if err != nil {
		return nil, err
	}
	query := fmt.Sprintf("SELECT %s, conversation, seq FROM messages WHERE saved_at > %d ORDER BY saved_at, id", strings.Join(messageColumns, ", "), since)
	err = rowsOf(ctx, c.from, query, func(row []any) {
		n := len(messageColumns)
		c.since = max(c.since, row[11].(int64))
		conversation, seq := row[n], row[n+1]
		m := plainMessage{row[:n], terms[[2]any{conversation, seq}]}
		at := [2]any{conversation, row[1]}
		if turns[at] == nil {
			turns[at] = &plainTurn{conversation: conversation, question: m}
			inOrder = append(inOrder, turns[at])
			return
		}
		turns[at].others = append(turns[at].others, m)
		replies[[2]any{conversation, row[3]}] = turns[at]
	})
	if err != nil {
		return nil, err
	}
	err = rowsOf(ctx, c.from, fmt.Sprintf("SELECT %s FROM outbox WHERE created_at >= %d ORDER BY id", strings.Join(pieceColumns, ", "), since), func(row []any) {
		if t := replies[[2]any{row[0], row[1]}]; t != nil {
			t.pieces = append(t.pieces, row)
		}
	})
	return inOrder, err
}

// plainWriter writes turns by prepared statements, on one connection.
type plainWriter struct {
	conn                                                   *sql.Conn
	inbox, taken, message, term, next, ended, piece, state *sql.Stmt
}

func newPlainWriter(ctx context.Context, db *sql.DB) (*plainWriter, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &plainWriter{conn: conn}
	for _, p := range []struct {
		statement **sql.Stmt
		query     string
	}{
		{&w.inbox, insertInto("inbox", inboxColumns)},
		{&w.taken, "DELETE FROM inbox WHERE conversation = ?"},
		{&w.message, insertInto("messages", messageColumns)},
		{&w.term, insertInto("message_terms", strings.Fields("conversation term seq tf length"))},
		{&w.next, "UPDATE conversations SET next_seq = (? & 4294967295) + 1, origin = 'live' WHERE id = ?"},
		{&w.ended, "UPDATE messages SET answered = 1 WHERE id = ?"},
		{&w.piece, insertInto("outbox", pieceColumns)},
		{&w.state, "UPDATE outbox SET state = ?, platform_id = ?, sent_at = ? WHERE conversation = ? AND reply = ? AND part = ?"},
	} {
		if *p.statement, err = conn.PrepareContext(ctx, p.query); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return w, nil
}

func insertInto(table string, columns []string) string {
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s)", table, strings.Join(columns, ", "), strings.Repeat(", ?", len(columns)-1))
}

// turn writes one, in the five transactions in which the bot does: delivered, taken up,
// answered, being sent, sent.
func (w *plainWriter) turn(ctx context.Context, t *plainTurn) error {
	q := t.question.row
	waiting := append([]any{t.conversation, q[3], q[4], q[5], q[6], q[7], q[8], q[9], q[10], q[11]}, q[12], q[13])
	asked := t.question
	asked.row = append([]any(nil), q...)
	asked.row[18] = 0 // not answered yet
	steps := []func(exec func(*sql.Stmt, ...any)){
		func(exec func(*sql.Stmt, ...any)) { exec(w.inbox, waiting...) },
		func(exec func(*sql.Stmt, ...any)) {
			w.say(exec, asked)
			exec(w.taken, t.conversation)
			exec(w.next, q[0], t.conversation)
		},
		func(exec func(*sql.Stmt, ...any)) {
			exec(w.ended, q[0])
			for _, m := range t.others {
				w.say(exec, m)
				exec(w.next, m.row[0], t.conversation)
			}
			for _, piece := range t.pieces {
				exec(w.piece, piece...)
			}
		},
	}
	for _, piece := range t.pieces {
		for _, state := range []string{"sending", "sent"} {
			steps = append(steps, func(exec func(*sql.Stmt, ...any)) { exec(w.state, state, "p1", piece[7], piece[0], piece[1], piece[2]) })
		}
	}
	for _, step := range steps {
		if err := w.transact(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

func (w *plainWriter) say(exec func(*sql.Stmt, ...any), m plainMessage) {
	exec(w.message, m.row...)
	for _, term := range m.terms {
		exec(w.term, term...)
	}
}

// transact takes no sql.Tx, which starts goroutines, as memory takes none.
func (w *plainWriter) transact(ctx context.Context, step func(exec func(*sql.Stmt, ...any))) error {
	if _, err := w.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	var err error
	step(func(statement *sql.Stmt, args ...any) {
		if err == nil {
			_, err = statement.ExecContext(ctx, args...)
		}
	})
	if err == nil {
		_, err = w.conn.ExecContext(ctx, "COMMIT")
	}
	return err
}
