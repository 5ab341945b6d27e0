// Processes: those that run the bot on one database. There are several on PostgreSQL alone.

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/store/postgres"
)

// Process is a process that runs the bot.
type Process struct {
	ID         int64
	Name       string // for people: HOST:PID
	Connectors []Account
	Version    string // of the program
	Settings   string // a hash
	Started    time.Time
	Left       time.Duration // of its lease; negative: it is over
	Draining   bool          // it takes on nothing new
}

// String describes a process for people.
func (p Process) String() string {
	what := fmt.Sprintf("process %s, version %s, since %s", p.Name, p.Version, p.Started.Format(time.RFC3339))
	var on []string
	for _, c := range p.Connectors {
		on = append(on, c.Connector)
	}
	if len(on) > 0 {
		what += ", for " + strings.Join(on, " and ")
	}
	switch {
	case p.Left < 0:
		what += fmt.Sprintf("; its lease is over since %v: another process ends it", -p.Left.Round(time.Second))
	case p.Draining:
		what += "; it stops"
	}
	return what
}

// Is reports whether a process has a name, or runs on a host with it.
func (p Process) Is(name string) bool { return p.Name == name || strings.HasPrefix(p.Name, name+":") }

// Account is whom the bot is on a platform.
type Account struct {
	Connector string `json:"name"`
	ID        string `json:"account"` // of the bot there; empty: not known
	Alone     bool   `json:"alone"`   // no other process may be there, as on a terminal
	Shards    int    `json:"shards"`  // into how many the process would divide the platform; NotReady; 0: of a version that receives everything
}

// NotReady are the shards of a platform from which a process cannot receive.
const NotReady = -1

// InUseError means that a process runs which excludes this one.
type InUseError struct {
	By  Process
	Why string
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("%v: %s runs as the process %s: stop it, or name another schema", ErrInUse, e.Why, e.By.Name)
}

func (e *InUseError) Is(target error) bool { return target == ErrInUse }

// clock is the time of the database, in milliseconds.
const clock = "CAST(unixepoch('subsec') * 1000 AS BIGINT)"

// Join adds this process to those that run the bot, until its lease ends. An *InUseError names another bot, or another process on
// the same terminal; one that was killed counts until its lease ends.
func (ps Processes) Join(ctx context.Context, p Process, lasts time.Duration) (*Lease, error) {
	var before *InUseError
	for {
		l, unfit, err := ps.join(ctx, p, lasts)
		switch {
		case err != nil:
			return nil, Fail("join the processes of the bot", err)
		case unfit == nil:
			ps.store.lease.Store(l)
			return l, nil
		case before != nil && before.By.ID == unfit.By.ID && before.By.Left < unfit.By.Left: // it has renewed its lease, so it runs
			return nil, unfit
		}
		before = unfit
		select {
		case <-time.After(lasts / 10):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (ps Processes) join(ctx context.Context, p Process, lasts time.Duration) (l *Lease, unfit *InUseError, err error) {
	l = &Lease{store: ps.store, lasts: lasts, epochs: make(map[string]int64), until: time.Now().Add(lasts)}
	err = ps.store.beside(ctx, func(tx *Tx) {
		unfit = excludes(tx.processes(), p)
		for unfit != nil && unfit.By.Left < 0 { // the others have until the first renewal: they may have been away
			tx.do("DELETE FROM processes WHERE id = ?", unfit.By.ID)
			unfit = excludes(tx.processes(), p)
		}
		if unfit != nil {
			return
		}
		l.id = getValue[int64](tx, `INSERT INTO processes (name, connectors, version, settings, started_at, lease_until)
			VALUES (?, ?, ?, ?, `+clock+`, `+clock+` + ?) RETURNING id`, p.Name, encode(p.Connectors), p.Version, p.Settings, lasts.Milliseconds())
		l.all = tx.processes()
	})
	return l, unfit, err
}

// everywhere is the connector of a process that excludes all others.
const everywhere = ""

// alone keeps all other processes from a database on a server until leave is called. If this one is cut off from it, it calls lost.
func (ps Processes) alone(ctx context.Context, lost func(error)) (leave func(), err error) {
	if !ps.store.Upkeep().OnServer() { // the folder is locked
		return func() {}, nil
	}
	p := Process{Name: postgres.ProcessName(), Connectors: []Account{{Connector: everywhere, Alone: true}}}
	l, err := ps.Join(ctx, p, aloneLasts)
	if err != nil {
		return nil, err
	}
	renewing, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for renewing.Err() == nil {
			select {
			case <-time.After(aloneLasts / 3):
			case <-renewing.Done():
				return
			}
			if _, err := l.Renew(renewing); errors.Is(err, ErrEnded) {
				lost(err)
				return
			}
		}
	}()
	return func() {
		stop()
		<-ended
		if err := l.End(context.WithoutCancel(ctx)); err != nil {
			ps.store.log.Warn("end_lease_failed", "effect", "others wait until it is over", "error", err)
		}
	}, nil
}

const aloneLasts = 6 * time.Second

// excludes returns the process beside which p cannot run; nil: there is none.
func excludes(all []Process, p Process) *InUseError {
	for _, other := range all {
		if len(other.Connectors) == 0 && slices.Contains(p.Connectors, Account{Connector: everywhere, Alone: true}) {
			return &InUseError{other, "a bot"}
		}
		for _, theirs := range other.Connectors {
			for _, ours := range p.Connectors {
				switch {
				case ours.Connector == everywhere:
					return &InUseError{other, "a bot"}
				case theirs.Connector == everywhere:
					return &InUseError{other, "a copy"}
				case ours.Connector != theirs.Connector:
				case ours.Alone && theirs.Alone:
					return &InUseError{other, "a bot on the " + ours.Connector}
				case ours.ID != "" && theirs.ID != "" && ours.ID != theirs.ID:
					return &InUseError{other, fmt.Sprintf("another bot, %s on %s and not %s,", theirs.ID, ours.Connector, ours.ID)}
				}
			}
		}
	}
	return nil
}

// List returns those that run the bot, oldest first.
func (ps Processes) List(ctx context.Context) (all []Process, err error) {
	err = ps.store.View(ctx, func(tx *Tx) { all = tx.processes() })
	return all, Fail("list the processes of the bot", err)
}

func (t *Tx) processes() []Process {
	return listRows(t, func(rows *sql.Rows, p *Process) error {
		left := int64(0)
		err := rows.Scan(&p.ID, &p.Name, jsonInto(&p.Connectors), &p.Version, &p.Settings, utcInto(&p.Started), &left, &p.Draining)
		p.Left = time.Duration(left) * time.Millisecond
		return err
	}, "SELECT id, name, connectors, version, settings, started_at, lease_until - "+clock+", draining FROM processes ORDER BY id")
}

// Drain asks the processes of a host, or the process with a name, to stop as SIGTERM does. It returns how many there are.
func (ps Processes) Drain(ctx context.Context, name string) (asked int, err error) {
	err = ps.store.beside(ctx, func(tx *Tx) {
		asked = int(tx.changes("UPDATE processes SET draining = 1 WHERE name = ?1 OR instr(name, ?1 || ':') = 1", name))
		tx.store.engine.notify(tx, true)
	})
	return asked, Fail("ask a process to stop", err)
}

// Lost sets f, which is called after the owner of an epoch has found out that it must not use what it knows of a conversation any more:
// another process owns that, or it is not known what was written. Call it before the first claim; f must not block.
func (ps Processes) Lost(f func(conversation string, epoch int64)) { ps.store.lost = f }
