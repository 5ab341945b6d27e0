package store_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

// selected reads the wanted columns of each table, and their rows; nil: all columns but those that a migration drops.
func selected(t *testing.T, path string, wanted map[string][]string) (columns, rows map[string][]string) {
	t.Helper()
	db := store.OpenFile(path, store.ReaderPragmas)
	defer db.Close()
	if wanted == nil {
		wanted = map[string][]string{}
		for _, name := range listed(t, db, `SELECT s.name || '.' || c.name FROM sqlite_schema s, pragma_table_info(s.name) c
			WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite_stat%' AND c.name NOT IN ('begun_with', 'policy_hash', 'refused', 'tried_at') AND (s.name, c.name) <> ('conversations', 'agent')`) {
			table, column, _ := strings.Cut(name, ".")
			wanted[table] = append(wanted[table], column)
		}
	}
	rows = map[string][]string{}
	for table, names := range wanted {
		rows[table] = listed(t, db, "SELECT quote("+strings.Join(names, ") || '|' || quote(")+") FROM "+table+" ORDER BY 1")
	}
	return wanted, rows
}

func listed(t *testing.T, db *sql.DB, query string) (found []string) {
	t.Helper()
	check.NoError(t, store.Transact(ctx, db, store.ToRead, func(tx *store.Tx) { found = store.Values[string](tx, query) }))
	return found
}

// wantSameRows checks that the copy of a database has its old names and the rows of before.
func wantSameRows(t *testing.T, copied string, columns, before map[string][]string) {
	t.Helper()
	_, after := selected(t, copied, columns)
	check.That(t, reflect.DeepEqual(after, before), "the copy:\nhas  %q\nhad  %q", after, before)
}

// wantUpgradedRows checks that an upgraded database has the rows of before, with the current names and values.
func wantUpgradedRows(t *testing.T, path string, columns, before map[string][]string) {
	t.Helper()
	now := map[string][]string{}
	for table, names := range columns {
		for _, name := range names {
			now[nameNow(table)] = append(now[nameNow(table)], nameNow(name))
		}
	}
	_, after := selected(t, path, now)
	for table, rows := range before {
		if table == "unscrubbed" || slices.Contains(store.Derived, table) {
			continue // the store erases when it opens, and builds what is derived again
		}
		now := after[nameNow(table)]
		rows := valuesNow(table, rows)
		switch table {
		case "sqlite_sequence": // newer tables have rows there too
			now = slices.DeleteFunc(now, func(row string) bool { return !slices.Contains(rows, row) || strings.Contains(row, "unscrubbed") })
			rows = slices.DeleteFunc(rows, func(row string) bool { return strings.Contains(row, "unscrubbed") })
		case "messages": // the reasoning of turns that ended is dropped, and no longer counted
			for i, row := range rows {
				rows[i] = strings.Replace(row, `'{"a":1}'|3000|3001|0|NULL|0|8`, "''|3000|3001|0|NULL|0|7", 1)
			}
		}
		check.That(t, slices.Equal(now, rows), "%s:\nhas  %q\nhad  %q", table, now, rows)
	}
}

func TestUpgradeFromEachVersion(t *testing.T) {
	storetest.SQLiteOnly(t, "earlier versions")
	for version := 1; version < len(store.Migrations); version++ {
		t.Run(fmt.Sprintf("from %d nothing is lost and nothing is changed", version), func(t *testing.T) {
			dir := t.TempDir()
			leaveVersion(t, dir, version)
			columns, before := selected(t, store.File(dir), nil)
			for table, rows := range before {
				check.Require(t, len(rows) > 0 || table == "sqlite_sequence", "%s is empty: the test proves nothing about it", table)
			}
			s := storetest.OpenStore(t, dir)
			wantSound(t, s)
			s.Close()
			wantUpgradedRows(t, store.File(dir), columns, before)
			_, hashes := selected(t, store.File(dir), map[string][]string{"memories": {"fact = 0"}})
			check.That(t, !slices.Contains(hashes["memories"], "1"), "memories without a hash of their words: %q", hashes)
			copied := fmt.Sprintf("%s.before-%d", store.File(dir), len(store.Migrations))
			check.Equal(t, "version of the copy", check.Must(store.Inspect(ctx, copied))(t).Version, version)
			wantSameRows(t, copied, columns, before)
			check.Equal(t, "permissions", check.Must(os.Stat(copied))(t).Mode().Perm(), 0o600)
		})
	}
	t.Run("the copy can be restored, and a later upgrade replaces it", func(t *testing.T) {
		dir := t.TempDir()
		last := len(store.Migrations) - 1
		leaveVersion(t, dir, last)
		storetest.OpenStore(t, dir).Close()
		copied := fmt.Sprintf("%s.before-%d", store.File(dir), last+1)
		restore(t, dir, copied)
		check.Equal(t, "version", check.Must(store.Inspect(ctx, store.File(dir)))(t).Version, last)
		runScripts(t, dir, "DELETE FROM memory_people; DELETE FROM memory_sources; DELETE FROM memories") // for example: it differs
		write(t, dir, store.CopyPart+"1", "SQLite format 3\x00 left by one that was killed")
		storetest.OpenStore(t, dir)
		check.Equal(t, "memories in the copy of the next upgrade", check.Must(store.Inspect(ctx, copied))(t).Memories, 0)
		for pattern, want := range map[string]int{copied: 1, copied + "[^0-9]*": 0, filepath.Join(dir, store.CopyPart+"*"): 0} {
			check.Len(t, pattern, check.Must(filepath.Glob(pattern))(t), want)
		}
	})
	t.Run("a damaged file is not upgraded", func(t *testing.T) {
		dir := t.TempDir()
		leaveVersion(t, dir, 3)
		at, size := rootOf(t, dir, "pins")
		overwrite(t, store.File(dir), at, bytes.Repeat([]byte{0xee}, int(size)))
		was := read(t, store.File(dir))
		check.Error(t, check.ErrorOf(store.Open(ctx, store.Options{Dir: dir})), store.ErrDamaged)
		check.Equal(t, "the file is unchanged", read(t, store.File(dir)) == was, true)
	})
}

// A new database has the same tables as an old one after all migrations: the same columns in the
// same order, with the same checks, indexes, triggers and views.
func TestSchemaMatchesMigrations(t *testing.T) {
	storetest.SQLiteOnly(t, "earlier versions")
	made := t.TempDir()
	migrated := t.TempDir()
	leaveVersion(t, migrated, len(store.Migrations)-1)
	var parts [2][]string
	for i, dir := range []string{made, migrated} {
		s := check.Must(store.Open(ctx, store.Options{Dir: dir}))(t)
		defer s.Close()
		for _, sql := range listed(t, s.Writing(), "SELECT sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name") {
			for _, r := range []struct{ from, to string }{{`--[^\n]*`, ""}, {`\s+`, " "}, {` ?([(),;]) ?`, "$1"}, {`(CREATE TABLE )"(\w+)"`, "$1$2"}} {
				sql = regexp.MustCompile(r.from).ReplaceAllString(sql, r.to)
			}
			parts[i] = append(parts[i], sql)
		}
	}
	check.Len(t, "parts of schema.sql", parts[0], len(parts[1]))
	for i, want := range parts[1] {
		check.Equal(t, "schema.sql", parts[0][i], want)
	}
}

func TestUpgradeFromTheFirstVersion(t *testing.T) {
	storetest.SQLiteOnly(t, "earlier versions")
	dir := t.TempDir()
	leaveVersion(t, dir, 1, `UPDATE messages SET text = 'Die Häuser sind alle aus Holz', attachments = '[{"kind":"file","name":"a.txt","text":"the kingfisher"}]'
		WHERE seq = 4; INSERT INTO message_terms (conversation, term, seq, tf, length) VALUES (1, 'bogus', 1, 1, 3)`)
	s := storetest.OpenStore(t, dir)
	c := find(t, s, "terminal:general")
	// The index is built again: with speakers by name, other forms, and what files hold.
	found := check.Must(memory.Of(c).Recall(ctx, memory.Question{Text: "Where does Ann live, in Turin?", Limit: 1}))(t)
	check.That(t, len(found) == 1 && found[0].Seq == 1 && storetest.Part(found[0], "speaker") > 0, "got %+v", found)
	for word, want := range map[string][]int64{"Haus": {4}, "kingfishers": {4}, "bogus": nil} {
		check.EqualAll(t, word, storetest.Recalled(t, c, word), want)
	}
	// The view is unchanged.
	state := load(t, c)
	check.Equal(t, "stack", storetest.Shape(state.Head.Stack), "leaf worker 1-1")
	for _, messages := range [][]chat.Message{state.Messages, state.First} {
		check.EqualAll(t, "messages", storetest.Seqs(messages), []int64{2, 3, 4})
	}
	marks := state.Next == 5 && state.Open == 4 && state.Head.Version == 2 && state.Head.ClearedTo == 3 && len(state.Prepared) == 1
	check.That(t, marks, "loaded %+v", state)
	m := state.Messages[0]
	check.That(t, m.ReplyTo == "m1" && m.ReplySeq == 0 && m.Quote == "" && !m.Optional && m.Tokens == 10, "got message 2 %+v", m)
	check.Equal(t, "prepared", apply(t, c, 2), "applied")
	check.Equal(t, "stack", stack(t, c), "leaf worker 1-1, leaf worker 2-3")
	// Rows applied then keep their place, and cannot be undone.
	all := check.Must(storetest.Steps(c))(t)
	check.Len(t, "steps", all, 2)
	check.That(t, all[0].Next >= 2 && all[0].Next <= 5 && shape(all[0]) == "leaf worker 1-1" && all[1].Next == 5, "got %+v", all)
	undo(t, c) // applied since
	check.Equal(t, "then", latest(t, c).Why, transcript.ErrNothingApplied.Error())
	// Pieces keep their order, their rows and their states.
	want := []store.Piece{
		{Row: 6, Reply: "reply-3", Part: 1, Parts: 2, To: []string{"m2"}, Text: " nine", Sending: true},
		{Row: 9, Reply: "notice-4", Part: 0, Parts: 1, To: []string{"m4"}, Text: "sorry", Failure: true},
	}
	check.That(t, reflect.DeepEqual(unsent(t, c), want), "got %+v", unsent(t, c))
	check.NoError(t, c.Outbox().Post(ctx, store.Outcome{Reply: "notice-9", Pieces: []string{"new"}}))
	check.Equal(t, "row of the next piece", unsent(t, c)[2].Row, 10)
	check.Equal(t, "a reply to a piece that was sent then", deliver(t, c, storetest.Quoting(9, "thanks", "p1", ""))[0].ReplySeq, 3)
	// A full inbox is taken up, and only where nothing was said the past is wanted.
	for name, want := range map[string]string{"general": "true ", "empty": "false ", "full": "false m1"} {
		wantReadBack(t, find(t, s, "terminal:"+name), want)
	}
	taken := deliver(t, find(t, s, "terminal:full"))
	check.EqualAll(t, "dequeued", texts(taken), []string{"are you there?"})
	check.That(t, taken[0].Attachments[0].URL == "https://x.test/cat" && !taken[0].Optional, "got %+v", taken)
	wantGap(t, c, "", false)
	// What was said then can be edited and deleted.
	edit(t, c, 4, "and tomorrow?")
	check.EqualAll(t, "deleted", remove(t, c, 1), []int64{1})
	check.Equal(t, "memories", number(t, s, "SELECT count(*) FROM memories"), 0)
}

func TestUpgradeOfMemories(t *testing.T) {
	storetest.SQLiteOnly(t, "earlier versions")
	dir := t.TempDir()
	write(t, dir, store.DatabaseName, "")
	const purged = "DELETE FROM memory_sources WHERE memory = 5; DELETE FROM memories WHERE id = 5"
	runScripts(t, dir, store.Migrations[0], store.Migrations[1], store.Migrations[2], read(t, "testdata/memories.sql"), purged)
	s := storetest.OpenStore(t, dir)
	wantErasures(t, s, 1)
	memories := memory.In(s)
	c := find(t, s, "discord:1/10")
	owners := map[int64]string{1: "u1 u2", 2: "u1 u1", 3: " "} // derived from the messages
	for id := int64(1); id <= 4; id++ {
		m := storetest.Memory(t, s, id)
		if want, ok := owners[id]; ok {
			check.Equal(t, fmt.Sprint("owners of memory ", id), m.SpeakerID+" "+m.AboutID, want)
		}
		// None expires or is pinned, and requested ones keep their place.
		check.That(t, !m.Pinned && m.Expires.IsZero() && (m.Reach == "channel") == (id == 3) && m.Importance == 0.5, "got %+v", m)
	}
	for id, want := range map[int64]string{3: "active", 4: "superseded"} { // forgotten ones can be restored
		check.NoError(t, memories.Restore(ctx, id))
		check.Equal(t, "state of the memory", storetest.Memory(t, s, id).State, want)
	}
	memories.Share(true) // no place is public before its connector says so
	for _, want := range []bool{false, true} {
		_, here, err := memory.Of(c).Shared(ctx)
		check.NoError(t, err)
		check.Equal(t, "shared", here, want)
		m := storetest.Within(store.ServerWide, said(9, "hello"))
		m.Time = time.Now()
		deliver(t, c, m)
	}
}

// Earlier versions kept the text of what was sent, where no deletion of a message found it.
func TestUpgradeErasesSentText(t *testing.T) {
	storetest.SQLiteOnly(t, "earlier versions")
	dir := t.TempDir()
	leaveVersion(t, dir, 9, "UPDATE outbox SET text = '"+secret+"' WHERE state IN ('sent', 'dropped'); DELETE FROM unscrubbed")
	check.NoError(t, storetest.OpenStore(t, dir).Upkeep().Run(ctx, store.Backups{}, time.Now().Add(store.EraseWithin)))
	check.Len(t, "files with the text", storetest.FilesWith(t, dir, secret), 1)
	check.NoError(t, os.Remove(fmt.Sprintf("%s.before-%d", store.File(dir), len(store.Migrations))))
	storetest.WantNoBytes(t, dir, secret)
}

// "life" and "lives" had a term of their own.
func TestUpgradeJoinsTerms(t *testing.T) {
	storetest.SQLiteOnly(t, "earlier versions")
	dir := t.TempDir()
	leaveVersion(t, dir, 16, `DELETE FROM message_terms; DELETE FROM memory_terms;
		INSERT INTO message_terms (conversation, term, seq, tf, length) VALUES (1, 'life', 1, 2, 5), (1, 'live', 1, 1, 5), (1, 'life', 2, 1, 4);
		INSERT INTO memory_terms (conversation, term, memory, tf, length) VALUES (1, 'life', 1, 2, 5), (1, 'live', 1, 1, 5), (1, 'life', 2, 1, 4)`)
	s := storetest.OpenStore(t, dir)
	check.EqualAll(t, "of messages", storetest.Rows(t, s, "SELECT term, seq, tf FROM message_terms"), []string{"live|1|3", "live|2|1"})
	check.EqualAll(t, "of memories", storetest.Rows(t, s, "SELECT term, memory, tf FROM memory_terms"), []string{"live|1|3", "live|2|1"})
}

// What SQL alone cannot fill is filled once: the subjects of memories, and what tools had quoted before quotes were stored.
func TestUpgradeFills(t *testing.T) {
	storetest.SQLiteOnly(t, "earlier versions")
	dir := t.TempDir()
	results := map[int64]struct {
		tool, text string
		empty      bool // after the deletion of message 1, from which memory 1 came
	}{
		105: {"recall", `{"messages":[{"seq":1,"text":"x"}]}`, true},
		106: {"expand", `{"messages":[{"seq":1,"text":"x`, true}, // it may quote anything
		107: {"recall", `{"messages":[{"seq":2,"text":"here"}]}`, false},
		108: {"memory_search", `{"memories":[{"id":9,"messages":[1]}]}`, true},
		109: {"memory_search", `{"memories":[{"id":1}]}`, true},
		110: {"memory_save", `Noted. Memory 1 says: "x".`, true},
		111: {"memory_save", `This was already known, as memory 2: "x \"memory 1: \"".`, false},
		112: {"weather", `{"messages":[{"seq":1}]}`, false},
	}
	script := "UPDATE messages SET native = ''; UPDATE outbox SET text = '' WHERE state = 'sent'; " + // otherwise the upgrade deletes it
		"UPDATE conversations SET next_seq = 200 WHERE id = 1"
	for seq, r := range results {
		script += fmt.Sprintf(`; INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to, calls, call_id, tool, native,
			said_at, saved_at, addressed, answered, attempts, tokens)
			SELECT 1 << 32 | %d, turn, 'tool', '', '', '', '%s', '', '', '', 'c', '%s', '', 1, 1, 0, NULL, 0, 9 FROM messages WHERE id = 1 << 32 | 4`, seq, r.text, r.tool)
	}
	leaveVersion(t, dir, 1, script)
	s := storetest.OpenStore(t, dir)
	const subjects = "SELECT count(*) * 10 + sum(memory = 1 AND author_id = 'u1' AND role = 'said') FROM memory_people"
	check.Equal(t, "ten for each subject, and one for the speaker", number(t, s, subjects), 11)
	wantErasures(t, s, 0)
	c := find(t, s, "terminal:general")
	check.Equal(t, "held", check.Must(privacy.Of(c).Traces(ctx, store.Person{ID: "u1"}))(t), privacy.Holding{Channel: c.Name(), Messages: 2, Memories: 1})
	changed := remove(t, c, 1)
	for seq, r := range results {
		want := r.text
		if r.empty {
			want = store.DeletedCopyText
		}
		check.Equal(t, fmt.Sprintf("#%d is reported as changed", seq), slices.Contains(changed, seq), r.empty)
		check.Equal(t, fmt.Sprintf("#%d", seq), message(t, c, seq).Text, want)
	}
}
