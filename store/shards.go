// Shards: the connections into which a platform divides what it sends, and which process receives over each. Discord has several;
// every other platform is one shard, number 0.
//
// A process owns a shard as long as it runs, like a conversation. Who claims shards, changes their number or gives them up first locks
// the row of shard 0, so that its next statement sees what the last one to do so has written.

package store

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Shard is one of the connections of a platform.
type Shard struct {
	Connector string
	Number    int // from 0 on
	Count     int // of all shards of the platform
	Owner     int64
	Free      bool   // no running process owns it
	Session   string // where the next owner continues: JSON of the connector; empty: nothing is known
}

// OwnShards are the shards as a process claims them.
type OwnShards struct{ lease *Lease }

// Shards returns the shards as this process claims them.
func (l *Lease) Shards() OwnShards { return OwnShards{l} }

// ListShards returns the shards of all platforms.
func (ps Processes) ListShards(ctx context.Context) (all []Shard, err error) {
	err = ps.store.View(ctx, func(tx *Tx) { all = tx.shards() })
	return all, Fail("list the shards", err)
}

func (t *Tx) shards() []Shard {
	return listRows(t, func(rows *sql.Rows, s *Shard) error {
		return rows.Scan(&s.Connector, &s.Number, &s.Count, &s.Owner, &s.Free, &s.Session)
	}, `SELECT connector, number, count, owner, CASE WHEN owner IN (SELECT id FROM processes) THEN 0 ELSE 1 END, session FROM shards ORDER BY connector, number`)
}

// describeShards says for people which process receives over which shards.
func (t *Tx) describeShards(note func(form string, args ...any)) {
	numbers := make(map[string]map[int64][]string) // by connector and owner
	counts := make(map[string]int)
	for _, s := range t.shards() {
		if numbers[s.Connector] == nil {
			numbers[s.Connector] = make(map[int64][]string)
		}
		counts[s.Connector] = s.Count
		numbers[s.Connector][s.Owner] = append(numbers[s.Connector][s.Owner], strconv.Itoa(s.Number))
	}
	processes := t.processes()
	for _, connector := range slices.Sorted(maps.Keys(counts)) {
		var parts []string
		for _, p := range processes {
			if has := numbers[connector][p.ID]; len(has) > 0 {
				parts = append(parts, "process "+p.Name+" has "+strings.Join(has, ", "))
			}
		}
		if count := counts[connector]; count > 1 {
			note("%s is divided into %d shards: %s", connector, count, cmp.Or(strings.Join(parts, "; "), "nobody has one"))
		}
		for _, p := range processes {
			for _, on := range p.Connectors {
				if on.Connector == connector && on.Shards > 0 && on.Shards != counts[connector] {
					note("warning: process %s would divide %s into %d shards, by its settings or what the platform recommends; that happens when all processes have stopped", p.Name, connector, on.Shards)
				}
			}
		}
	}
}

// lockShards keeps other transactions from claiming, dividing or releasing shards of a platform until the end of this one.
func (t *Tx) lockShards(connector string) {
	t.do("UPDATE shards SET count = count WHERE connector = ? AND number = 0", connector)
}

// Divide says that this process is ready to receive from a platform that it would divide into so many shards. It returns into how many
// the platform is divided: that changes only while no process owns any of them.
func (o OwnShards) Divide(ctx context.Context, connector string, count int) (divided int, err error) {
	err = o.lease.store.beside(ctx, func(tx *Tx) {
		o.lease.setShards(tx, connector, count)
		tx.do("INSERT INTO shards (connector, number, count) VALUES (?, 0, ?) ON CONFLICT DO NOTHING", connector, count)
		tx.lockShards(connector)
		divided = int(getValue[int64](tx, "SELECT count FROM shards WHERE connector = ? AND number = 0", connector))
		if divided != count && !exists(tx, "SELECT 1 FROM shards WHERE connector = ? AND owner IN (SELECT id FROM processes)", connector) {
			tx.do("UPDATE shards SET count = ?, session = '' WHERE connector = ?", count, connector)
			tx.do("DELETE FROM shards WHERE connector = ? AND number >= ?", connector, count)
			divided = count
		}
		for number := 1; number < divided; number++ {
			tx.do("INSERT INTO shards (connector, number, count) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", connector, number, divided)
		}
		tx.store.engine.notify(tx, true)
	})
	return divided, Fail("divide "+connector+" into shards", err)
}

// Withhold says that this process cannot receive from a platform now. It keeps its shards.
func (o OwnShards) Withhold(ctx context.Context, connector string) error {
	return Fail("tell others that "+connector+" cannot be reached", o.lease.store.beside(ctx, func(tx *Tx) {
		o.lease.setShards(tx, connector, NotReady)
		tx.store.engine.notify(tx, true)
	}))
}

// setShards sets into how many shards this process would divide a platform.
func (l *Lease) setShards(tx *Tx, connector string, count int) {
	l.changeAccounts(tx, func(all []Account) []Account {
		for i := range all {
			if all[i].Connector == connector {
				all[i].Shards = count
			}
		}
		return all
	})
}

// changeAccounts changes where this process says that it can talk to people.
func (l *Lease) changeAccounts(tx *Tx, change func(all []Account) []Account) {
	tx.do("UPDATE processes SET draining = draining WHERE id = ?", l.id) // locks the row
	for _, p := range tx.processes() {
		if p.ID == l.id {
			tx.do("UPDATE processes SET connectors = ? WHERE id = ?", encode(change(p.Connectors)), l.id)
		}
	}
}

// Withdraw tells other processes that this one cannot talk to a platform, and gives up its shards.
func (l *Lease) Withdraw(ctx context.Context, connector string) error {
	return Fail("withdraw from "+connector, l.store.beside(ctx, func(tx *Tx) {
		l.changeAccounts(tx, func(all []Account) []Account {
			return slices.DeleteFunc(all, func(a Account) bool { return a.Connector == connector })
		})
		l.release(tx, connector)
	}))
}

// Claim makes this process the owner of free shards of a platform, at most so many.
func (o OwnShards) Claim(ctx context.Context, connector string, most int) error {
	return Fail("claim shards of "+connector, o.lease.store.beside(ctx, func(tx *Tx) {
		tx.lockShards(connector)
		if !o.lease.mayReceive(tx, connector) {
			return
		}
		tx.do(`UPDATE shards SET owner = ?1 WHERE connector = ?2 AND number IN (SELECT number FROM shards
			WHERE connector = ?2 AND owner NOT IN (SELECT id FROM processes) ORDER BY number LIMIT ?3)`, o.lease.id, connector, most)
	}))
}

// mayReceive reports whether this process has said that it can receive from a platform, and is not stopping.
func (l *Lease) mayReceive(tx *Tx, connector string) bool {
	return slices.ContainsFunc(tx.processes(), func(p Process) bool {
		return p.ID == l.id && !p.Draining && slices.ContainsFunc(p.Connectors, func(on Account) bool {
			return on.Connector == connector && on.Shards > 0
		})
	})
}

// Save writes where the next owner of each of some shards continues, by their numbers. What this process does not own stays as
// it is.
func (o OwnShards) Save(ctx context.Context, connector string, sessions map[int]string) error {
	return Fail("save sessions of "+connector, o.lease.store.beside(ctx, func(tx *Tx) { o.lease.saveSessions(tx, connector, sessions) }))
}

func (l *Lease) saveSessions(tx *Tx, connector string, sessions map[int]string) {
	for number, session := range sessions {
		tx.do("UPDATE shards SET session = ? WHERE connector = ? AND number = ? AND owner = ?", session, connector, number, l.id)
	}
}

// Release gives up this process's shards of a platform, after Save.
func (o OwnShards) Release(ctx context.Context, connector string, sessions map[int]string) error {
	return Fail("release the shards of "+connector, o.lease.store.beside(ctx, func(tx *Tx) {
		tx.lockShards(connector)
		o.lease.saveSessions(tx, connector, sessions)
		o.lease.release(tx, connector)
	}))
}

func (l *Lease) release(tx *Tx, connector string) {
	tx.lockShards(connector)
	tx.do("UPDATE shards SET owner = 0 WHERE connector = ? AND owner = ?", connector, l.id)
	tx.store.engine.notify(tx, true)
}

// TakeStart lets this process start a session, alone in a bucket of shards, for at most so long. Otherwise it returns how long to wait
// before the next try.
func (o OwnShards) TakeStart(ctx context.Context, connector string, bucket int, most time.Duration) (wait time.Duration, err error) {
	err = o.lease.store.beside(ctx, func(tx *Tx) {
		if tx.changed("UPDATE shards SET next_start = "+clock+" + ? WHERE connector = ? AND number = ? AND next_start <= "+clock, most.Milliseconds(), connector, bucket) {
			return
		}
		left := getValue[int64](tx, "SELECT next_start - "+clock+" FROM shards WHERE connector = ? AND number = ?", connector, bucket)
		wait = max(time.Duration(left)*time.Millisecond, time.Millisecond)
	})
	return wait, Fail("wait for the start of a session of "+connector, err)
}

// EndStart lets the next session of a bucket start after a pause.
func (o OwnShards) EndStart(ctx context.Context, connector string, bucket int, pause time.Duration) error {
	return Fail("note the start of a session of "+connector, o.lease.store.beside(ctx, func(tx *Tx) {
		tx.do("UPDATE shards SET next_start = "+clock+" + ? WHERE connector = ? AND number = ?", pause.Milliseconds(), connector, bucket)
	}))
}
