package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/pgtest"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

// richStore makes a store with rows in every table, from which the newest rows of some were deleted.
func richStore(t *testing.T) (dir string) {
	t.Helper()
	storetest.SQLiteOnly(t, "a file of an earlier version")
	dir = t.TempDir()
	leaveVersion(t, dir, len(store.Migrations)-1)
	s := check.Must(store.Open(ctx, store.Options{Dir: dir}))(t)
	c := find(t, s, "discord:7/70")
	converse(t, c)
	summarizeAll(t, c)
	delegate(t, c)
	newest := storetest.Keep(t, c, "Ann", "Ann plays the theremin.", 1).ID
	storetest.Keep(t, c, "Ann", "Ann rows a boat.", 6)
	check.NoError(t, memory.Of(c).Purge(ctx, newest+1))
	today := usageRow(store.Day(time.Now()), store.ForTurn, "m", 1)
	today.By = []string{"ann"}
	check.NoError(t, c.Turns().AddUsage(ctx, []store.Usage{today}))
	check.NoError(t, s.Update(ctx, func(tx *store.Tx) { tx.Shown("discord").Add("ann", []int64{newest}, nil) }))
	for table, columns := range storetest.Columns(t, s) {
		if slices.Contains(store.OfProcesses, table) { // which a copy lacks
			storetest.Run(t, s, "DELETE FROM "+table)
			continue
		}
		check.Require(t, number(t, s, "SELECT count(*) FROM "+table) > 0 || table == "cairn", "%s is empty: the test proves nothing about it; its columns are %q", table, columns)
	}
	check.NoError(t, s.Close())
	// A thread that is older than its channel, a memory that an older one has superseded, and a counter of a table without rows.
	runScripts(t, dir, "UPDATE conversations SET parent = (SELECT max(id) FROM conversations) WHERE id = 1; UPDATE memories SET superseded_by = (SELECT min(id) FROM memories) WHERE id = (SELECT max(id) FROM memories)",
		"DELETE FROM wanted_sessions; DELETE FROM inbox WHERE id = (SELECT max(id) FROM inbox)")
	return dir
}

func quiet(store.CopyProgress) {}

// copyTo copies a store, and wants that to work.
func copyTo(t *testing.T, from, to store.Options) store.CopyResult {
	t.Helper()
	return check.Must(store.Copy(ctx, from, to, quiet))(t)
}

// onSQLite names a folder without a database.
func onSQLite(t *testing.T) store.Options {
	return store.Options{Dir: t.TempDir()}
}

// databases counts those that onPostgres has made.
var databases atomic.Int32

// onPostgres names a database without tables.
func onPostgres(t *testing.T) store.Options {
	t.Helper()
	c := pgtest.Shared(t)
	name := fmt.Sprintf("copy_%d", databases.Add(1))
	check.NoError(t, c.Run("postgres", "CREATE DATABASE "+name))
	return store.Options{Postgres: c.Address(name), Schema: "cairn"}
}

// shown describes what people and models see of a store: prompts and searches.
func shown(t *testing.T, o store.Options) string {
	t.Helper()
	s := check.Must(store.Open(ctx, o))(t)
	defer s.Close()
	var all strings.Builder
	places, _, err := s.Places(ctx, "", -1, 0)
	check.NoError(t, err)
	for _, place := range places {
		c := find(t, s, place.Channel)
		var r transcript.Rendering
		v := transcript.NewView(peek(t, c), transcript.Shape{ClipTo: 1000, MaxCopies: 1000, KeepFirst: 2, KeepFirstTurns: 2}, nil)
		fmt.Fprintf(&all, "%s\n%s\n", place.Channel, check.Must(json.Marshal(r.Next("You are a bot.", v)))(t))
		for _, text := range []string{"theremin", "what did Ann say?", "text", "where does Ann live?"} {
			found := check.Must(memory.Of(c).Recall(ctx, memory.Question{Text: text, Limit: 10, Before: store.MaxSeq, Now: storetest.Day.Add(time.Hour)}))(t)
			fmt.Fprintf(&all, "%s: %s\n", text, check.Must(json.Marshal(found))(t))
		}
	}
	memories, _, err := memory.In(s).List(ctx, memory.Filter{State: "all"})
	check.NoError(t, err)
	fmt.Fprintf(&all, "%s\n", check.Must(json.Marshal(memories))(t))
	check.Must(s.Upkeep().Check(ctx))(t)
	return all.String()
}

// nextIDs returns the ids that the next rows of a store get. It makes these rows.
func nextIDs(t *testing.T, o store.Options) (next map[string]int64) {
	t.Helper()
	s := check.Must(store.Open(ctx, o))(t)
	defer s.Close()
	next = map[string]int64{}
	check.NoError(t, s.Update(ctx, func(tx *store.Tx) {
		for table, insert := range map[string]string{
			"conversations": "(name, created_at) VALUES ('x:1', 1)", "wanted_sessions": "(conversation, after, wanted_at) VALUES (1, 1, 1)",
			"memories":   "(conversation, kind, content, folded, importance, speaker, about, said_at, saved_at) VALUES (1, 'fact', 'new', 'new', 0, '', '', 1, 1)",
			"inbox":      "(conversation, platform_id, author_id, author, text, attachments, reply_to, said_at, received_at, addressed) VALUES (1, 'x', '', '', '', '', '', 1, 1, 0)",
			"unscrubbed": "DEFAULT VALUES",
		} {
			next[table] = store.Get[int64](tx, "INSERT INTO "+table+" "+insert+" RETURNING id")
		}
	}))
	return next
}

func TestCopyThereAndBack(t *testing.T) {
	dir := richStore(t)
	here := store.Options{Dir: dir}
	there := onPostgres(t)
	back := store.Options{Dir: t.TempDir()}
	columns, before := selected(t, store.File(dir), nil)
	first := copyTo(t, here, there)
	second := copyTo(t, there, back)
	other := there
	other.Schema = "other"
	third := copyTo(t, there, other)
	check.EqualAll(t, "rows and digests on PostgreSQL and on SQLite", second.Tables, first.Tables)
	check.EqualAll(t, "rows and digests in another schema", third.Tables, first.Tables)
	_, after := selected(t, store.File(back.Dir), columns)
	for _, table := range store.OfProcesses {
		check.Len(t, "rows of "+table+" in the copy", after[table], 0)
	}
	_, unchanged := selected(t, store.File(dir), columns)
	for _, rows := range []map[string][]string{before, after, unchanged} {
		withoutProcesses(rows)
	}
	check.That(t, reflect.DeepEqual(after, before), "the copy:\nhas  %q\nhad  %q", after, before)
	check.That(t, reflect.DeepEqual(unchanged, before), "the source:\nhas  %q\nhad  %q", unchanged, before)
	var names []string
	for _, table := range first.Tables {
		names = append(names, table.Table)
		check.Equal(t, "rows of "+table.Table, table.Rows, int64(len(before[table.Table])))
	}
	delete(columns, "sqlite_sequence")
	names = append(names, store.OfProcesses...)
	check.EqualAll(t, "the copied tables", slices.Sorted(slices.Values(names)), slices.Sorted(maps.Keys(columns)))

	was := shown(t, here)
	check.Contains(t, "what is seen", was, "what is a walrus?", "Ann has a dog", "theremin")
	for _, o := range []store.Options{there, back, other} {
		check.Equal(t, "prompts and searches", shown(t, o), was)
	}
	next := nextIDs(t, here)
	check.That(t, next["wanted_sessions"] > 1 && next["inbox"] > 1, "no row was deleted: the test proves nothing: %v", next)
	for _, o := range []store.Options{there, back, other} {
		check.That(t, maps.Equal(nextIDs(t, o), next), "the next ids differ from %v", next)
	}
}

// withoutProcesses leaves out what a copy does not copy, and the counter of processes: the copies themselves were some.
func withoutProcesses(rows map[string][]string) {
	for _, table := range store.OfProcesses {
		delete(rows, table)
	}
	rows["sqlite_sequence"] = slices.DeleteFunc(rows["sqlite_sequence"], func(row string) bool { return strings.HasPrefix(row, "'processes'") })
}

// A table that never had a row gives its first id after a copy, too.
func TestCopyOfUnusedCounters(t *testing.T) {
	here := smallStore(t)
	there := onPostgres(t)
	back := onSQLite(t)
	copyTo(t, here, there)
	copyTo(t, there, back)
	counters := map[string][]string{"sqlite_sequence": {"name", "seq"}}
	_, before := selected(t, store.File(here.Dir), counters)
	_, after := selected(t, store.File(back.Dir), counters)
	withoutProcesses(after)
	check.EqualAll(t, "counters", after["sqlite_sequence"], before["sqlite_sequence"])
	next := nextIDs(t, here)
	check.Equal(t, "the first of a table", next["memories"], 1)
	check.That(t, maps.Equal(nextIDs(t, there), next), "the next ids differ from %v", next)
}

// stopped copies until it is enough, and reports whether the copy was finished before.
func stopped(t *testing.T, from, to store.Options, enough func(store.CopyProgress) bool) (done bool) {
	t.Helper()
	limited, stop := context.WithCancel(ctx)
	defer stop()
	_, err := store.Copy(limited, from, to, func(p store.CopyProgress) {
		if enough(p) {
			stop()
		}
	})
	check.That(t, err == nil || errors.Is(err, context.Canceled), "a stopped copy: %v", err)
	return err == nil
}

// steps is enough after a number of steps.
func steps(n int) func(store.CopyProgress) bool {
	return func(store.CopyProgress) bool {
		n--
		return n == 0
	}
}

// A copy that is stopped again and again at each of its steps is finished at last. Until then nothing else opens it.
func TestCopyGoesOn(t *testing.T) {
	here := store.Options{Dir: richStore(t)}
	defer store.CopyInBatches(7, 1<<20)()
	for name, target := range map[string]func(*testing.T) store.Options{"SQLite": onSQLite, "PostgreSQL": onPostgres} {
		t.Run(name, func(t *testing.T) {
			want := copyTo(t, here, store.Options{Dir: t.TempDir()})
			there := target(t)
			stops := 0
			for !stopped(t, here, there, steps(len(want.Tables)+5*stops)) { // each goes on, and further than the one before
				stops++
				err := check.ErrorOf(store.Open(ctx, there))
				check.Require(t, errors.Is(err, store.ErrUnfinished) && stops < 100, "opened after %d stops: %v", stops, err)
			}
			check.That(t, stops > 5, "it was stopped %d times", stops)
			back := copyTo(t, there, store.Options{Dir: t.TempDir()})
			check.EqualAll(t, "rows and digests", back.Tables, want.Tables)
		})
	}
}
