// Requests: what a process asks the owner of a conversation to do, because only the owner can, such as to run a command.

package store

import (
	"context"
	"database/sql"
	"time"
)

const (
	requestWaits  = 30 * time.Second // for an owner to take it; by then whoever asked has given up
	requestsStand = 30 * time.Minute // as long as anybody waits for an outcome
)

// Request is something that another process asks the owner of a conversation to do. At most one process takes it, once.
type Request struct {
	ID           int64
	Conversation string
	Kind         string // which part of the program handles it
	Body         string
}

// Response is what is known of a request.
type Response struct {
	Taken   bool   // by the owner of the conversation
	Answer  string // empty: there is none yet
	Outcome string // of what the answer only announces; empty: there is none yet
	Lost    bool   // the owner has ended, and may have done it or not
}

// Requests are those between the processes of the bot.
type Requests struct{ lease *Lease }

// Requests returns those of the bot.
func (l *Lease) Requests() Requests { return Requests{l} }

// Ask asks the owner of a conversation to do something, and returns the number of the request. What nobody owns, the next owner does.
func (r Requests) Ask(ctx context.Context, c *Conversation, kind, body string) (id int64, err error) {
	err = c.enter(ctx, "ask the owner", woken, func(tx *Tx) {
		id = getValue[int64](tx, "INSERT INTO requests (conversation, process, kind, body, asked_at) VALUES (?, ?, ?, ?, "+clock+") RETURNING id",
			c.id, r.lease.id, kind, body)
	})
	return id, err
}

// Take returns what others ask of conversations that this process owns.
func (r Requests) Take(ctx context.Context) (all []Request, err error) {
	scan := func(rows *sql.Rows, a *Request) error { return rows.Scan(&a.ID, &a.Conversation, &a.Kind, &a.Body) }
	const mine = `FROM requests q JOIN conversations c ON c.id = q.conversation LEFT JOIN tasks t ON t.id = c.id
		JOIN conversations r ON r.id = coalesce(t.root, c.id) WHERE q.taken = 0 AND r.owner = ? AND q.asked_at > ` + clock + " - ?"
	waits, err := selectAlone(ctx, r.lease.store, scan, "SELECT q.id, c.name, q.kind, q.body "+mine+" ORDER BY q.id", r.lease.id, requestWaits.Milliseconds())
	if err != nil || len(waits) == 0 {
		return nil, Fail("read what other processes ask", err)
	}
	err = r.lease.store.beside(ctx, func(tx *Tx) {
		for _, one := range waits {
			if tx.changed("UPDATE requests SET taken = ?, body = '' WHERE id = ? AND taken = 0", r.lease.id, one.ID) {
				all = append(all, one)
			}
		}
	})
	if err != nil { // perhaps they are taken: whoever asked hears that this is not known
		return nil, Fail("take what other processes ask", err)
	}
	return all, nil
}

// Answer answers a request.
func (r Requests) Answer(ctx context.Context, id int64, answer string) error {
	return r.respond(ctx, "UPDATE requests SET answer = ?1, outcome = ?1 WHERE id = ?2", answer, id)
}

// Announce answers a request with something that Conclude follows.
func (r Requests) Announce(ctx context.Context, id int64, answer string) error {
	return r.respond(ctx, "UPDATE requests SET answer = ? WHERE id = ?", answer, id)
}

// Conclude adds the outcome of what was announced.
func (r Requests) Conclude(ctx context.Context, id int64, outcome string) error {
	return r.respond(ctx, "UPDATE requests SET outcome = ? WHERE id = ?", outcome, id)
}

func (r Requests) respond(ctx context.Context, query string, args ...any) error {
	return Fail("answer another process", r.lease.store.beside(ctx, func(tx *Tx) {
		tx.do(query, args...)
		tx.store.engine.notify(tx, false)
	}))
}

// Response returns what is known of a request.
func (r Requests) Response(ctx context.Context, id int64) (known Response, err error) {
	err = r.lease.store.look(ctx, oneRead, func(tx *Tx) {
		tx.row(`SELECT taken <> 0, answer, outcome, taken <> 0 AND taken NOT IN (SELECT id FROM processes) FROM requests WHERE id = ?`, id).
			Scan(&known.Taken, &known.Answer, &known.Outcome, &known.Lost)
	})
	return known, Fail("read the answer of another process", err)
}

// Drop ends a request. It reports whether nobody has taken it, and nobody will.
func (r Requests) Drop(ctx context.Context, id int64) (untouched bool, err error) {
	err = r.lease.store.beside(ctx, func(tx *Tx) {
		taken := int64(0)
		untouched = tx.row("DELETE FROM requests WHERE id = ? RETURNING taken", id).Found(&taken) && taken == 0
	})
	return untouched, Fail("end a request to another process", err)
}
