package main

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/store"
)

// left is a file of the first version: an unanswered turn, a message to dequeue, and a reply to
// send.
const left = `
INSERT INTO conversations (id, name, origin, next_seq, created_at) VALUES (1, 'terminal:general', 'live', 4, 10);
INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to, calls, call_id, tool, native, said_at, saved_at, addressed, answered, attempts, tokens) VALUES
  (1 << 32 | 1, 1, 'user', 'm1', 'u1', 'Ann', 'I live in Turin', '', '', '', '', '', '', %[1]d, %[1]d, 1, 1, 1, 9),
  (1 << 32 | 2, 1, 'assistant', 'reply-2', '', '', 'I see.', '', '', '', '', '', '', %[1]d, %[1]d, 0, NULL, 0, 8),
  (1 << 32 | 3, 3, 'user', 'm2', 'u1', 'Ann', 'and where does Bob live?', '', '', '', '', '', '', %[1]d, %[1]d, 1, 0, 1, 7);
INSERT INTO inbox (conversation, platform_id, author_id, author, text, attachments, reply_to, said_at, received_at, addressed) VALUES
  (1, 'm3', 'u1', 'Ann', 'are you there?', '', '', %[1]d, %[1]d, 1);
INSERT INTO outbox (conversation, reply, part, parts, answers, text, failure, state, platform_id, created_at) VALUES
  (1, 'reply-2', 0, 1, '["m1"]', 'I see.', 0, 'waiting', '', %[1]d);
PRAGMA user_version = 1`

// leave creates a file of an earlier version.
func leave(t *testing.T, dir string, version int) {
	t.Helper()
	db := check.Must(sql.Open("sqlite3", store.File(dir)+"?_journal_mode=WAL"))(t)
	defer db.Close()
	for v := 1; v <= version; v++ {
		script := check.Must(os.ReadFile(fmt.Sprintf(checkout+"/store/migrations/%d.sql", v)))(t)
		text := string(script)
		if v == 1 {
			text += fmt.Sprintf(left, time.Now().UnixMilli())
		}
		check.Must(db.Exec(fmt.Sprintf("%s; PRAGMA user_version = %d", text, v)))(t)
	}
}

// TestKillInAMigration kills the program while it upgrades the file of each earlier version: the
// file still has the earlier version, its copy is whole or missing, and the next process upgrades
// it.
func TestKillInAMigration(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	versions, err := filepath.Glob(checkout + "/store/migrations/*.sql")
	check.Require(t, err == nil && len(versions) >= 2, "%q, %v", versions, err)
	for version := 1; version < len(versions); version++ {
		earlier := t.TempDir()
		leave(t, earlier, version)
		for i, point := range []struct {
			name  string
			death killStep
		}{
			{"at its beginning", killStep{Schema: 1}},
			{"in the middle", killStep{Schema: 2}},
			{"before it is written", killStep{At: atCommit}},
			{"in the copy of it", killStep{Schema: 3, Copy: true}},
		} {
			if version > 1 && i != version%4 { // each version once, the oldest at each point
				continue
			}
			name, d := point.name, point.death
			t.Run(fmt.Sprintf("from version %d, %s", version, name), func(t *testing.T) {
				t.Parallel()
				p := newFolder(t)
				check.NoError(t, os.CopyFS(filepath.Join(p.dir, "data"), os.DirFS(earlier)))
				w := newRecorder(t, p)
				w.killed(step{death: d}, `{"text":"/help"}`)
				check.Equal(t, "version of the file", w.count("PRAGMA user_version"), version)
				copied := fmt.Sprintf("%s.before-%d", store.File(filepath.Join(p.dir, "data")), len(versions))
				check.Equal(t, "copy", errors.Is(check.ErrorOf(os.Stat(copied)), fs.ErrNotExist), d.Copy)
				w.said = []string{"m1", "m2", "m3"}
				w.goOn([]string{w.line("And now?")})
				check.Equal(t, "version of the file", w.count("PRAGMA user_version"), len(versions))
				check.Equal(t, "version of the copy", check.Must(store.Inspect(t.Context(), copied))(t).Version, version)
				w.examined()
				w.judge()
			})
		}
	}
}
