package store_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
)

// thirdVersion holds memories as the third version stored them, in all states.
const thirdVersion = `
INSERT INTO conversations (id, name, origin, next_seq, created_at) VALUES (1, 'discord:1/10', 'live', 4, 10);
INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to, calls, call_id, tool, native, said_at, saved_at, addressed, answered, attempts, tokens) VALUES
  (1 << 32 | 1, 1, 'user', 'm1', 'u1', 'Ann', 'I live in Turin', '', '', '', '', '', '', 1000, 1001, 0, 2, 0, 9),
  (1 << 32 | 2, 2, 'user', 'm2', 'u2', 'Bob', 'I row', '', '', '', '', '', '', 2000, 2001, 0, 2, 0, 9),
  (1 << 32 | 3, 3, 'assistant', '', '', '', 'fine', '', '', '', '', '', '', 3000, 3001, 0, NULL, 0, 9);
INSERT INTO memories (id, conversation, kind, content, folded, importance, speaker, about, made_by, said_at, saved_at, state, superseded_by) VALUES
  (1, 1, 'fact', 'Ann lives in Turin.', 'ann lives in turin', 0.5, 'Ann', 'Bob', 'worker', 1000, 5001, 'active', NULL),
  (2, 1, 'fact', 'Ann lives in Oslo.', 'ann lives in oslo', 0.5, 'Ann', 'Ann', 'worker', 1000, 5001, 'superseded', 1),
  (3, 1, 'fact', 'Bob rows.', 'bob rows', 0.5, 'Bob', 'Bob', 'person', 2000, 5001, 'forgotten', NULL),
  (4, 1, 'fact', 'Ann rows.', 'ann rows', 0.5, 'Ann', 'Ann', 'built-in', 2000, 5001, 'forgotten', 1),
  (5, 1, 'fact', 'Bob swims.', 'bob swims', 0.5, '', '', 'assistant', 2000, 5001, 'replaced', NULL);
INSERT INTO memory_sources (memory, message) VALUES (1, 1 << 32 | 1), (1, 1 << 32 | 2), (2, 1 << 32 | 1), (5, 1 << 32 | 3);
PRAGMA user_version = 3`

func TestUpgradeOfMemories(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, store.DatabaseName, "")
	runScripts(t, dir, store.Migrations[0], store.Migrations[1], store.Migrations[2], thirdVersion)
	s := storetest.OpenStore(t, dir)
	t.Run("owners are derived from the messages", func(t *testing.T) {
		for id, want := range map[int64][2]string{1: {"u1", "u2"}, 2: {"u1", "u1"}, 3: {"", ""}, 5: {"", ""}} {
			if m, err := memory.In(s).Details(ctx, id); err != nil || m.SpeakerID != want[0] || m.AboutID != want[1] {
				t.Errorf("%+v, %v", m, err)
			}
		}
	})
	t.Run("no memory expires or is pinned, and requested ones keep their place", func(t *testing.T) {
		for id := int64(1); id <= 5; id++ {
			m, err := memory.In(s).Details(ctx, id)
			private := m.Reach == "channel"
			if err != nil || m.Pinned || !m.Expires.IsZero() || private != (id == 3) || m.Importance != 0.5 {
				t.Errorf("%+v, %v", m, err)
			}
		}
	})
	t.Run("forgotten memories can be restored", func(t *testing.T) {
		for id, want := range map[int64]string{3: "active", 4: "superseded"} {
			check.NoError(t, memory.In(s).Restore(ctx, id))
			m, err := memory.In(s).Details(ctx, id)
			check.NoError(t, err)
			check.Equal(t, "state of the memory", m.State, want)
		}
	})
	t.Run("no place is public before its connector says so", func(t *testing.T) {
		memory.In(s).Share(true)
		c := storetest.Find(t, s, "discord:1/10")
		if _, here, err := memory.Of(c).Shared(ctx); err != nil || here {
			t.Errorf("%v, %v", here, err)
		}
		m := storetest.Said(9, "hello")
		m.Audience = store.ServerWide
		m.Time = time.Now()
		storetest.Deliver(t, c, m)
		if _, here, err := memory.Of(c).Shared(ctx); err != nil || !here {
			t.Errorf("%v, %v", here, err)
		}
	})
}

func TestUpgradeErasesPurgedText(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, store.DatabaseName, "")
	runScripts(t, dir, store.Migrations[0], store.Migrations[1], store.Migrations[2], thirdVersion, "DELETE FROM memory_sources; DELETE FROM memories WHERE id = 5")
	check.Equal(t, "due erasures", storetest.Number(t, storetest.OpenStore(t, dir), "SELECT count(*) FROM unscrubbed"), 1)
}

// Earlier versions kept the text of what was sent, where no deletion of a message found it.
func TestUpgradeErasesSentText(t *testing.T) {
	dir := t.TempDir()
	leaveVersion(t, dir, 9)
	runScripts(t, dir, "UPDATE outbox SET text = '"+storetest.Secret+"' WHERE state IN ('sent', 'dropped'); DELETE FROM unscrubbed")
	s := storetest.OpenStore(t, dir)
	check.NoError(t, s.Upkeep().Run(ctx, store.Backups{}, time.Now().Add(store.EraseWithin)))
	check.Equal(t, "files with the text", len(storetest.CountBytes(t, dir, storetest.Secret)), 1)
	check.NoError(t, os.Remove(store.File(dir)+".before-10"))
	storetest.WantNoBytes(t, dir, storetest.Secret)
}

func TestUpgradeFillsMemorySubjects(t *testing.T) {
	dir := t.TempDir()
	leaveFirstVersion(t, dir)
	runScripts(t, dir, "UPDATE messages SET native = ''; UPDATE outbox SET text = '' WHERE state = 'sent'") // otherwise the upgrade deletes it
	s := storetest.OpenStore(t, dir)
	check.Equal(t, "rows with the speaker", storetest.Number(t, s, "SELECT count(*) FROM memory_people WHERE memory = 1 AND author_id = 'u1' AND role = 'said'"), 1)
	check.Equal(t, "rows", storetest.Number(t, s, "SELECT count(*) FROM memory_people"), 1)
	check.Equal(t, "a file without deletions is rewritten", storetest.Number(t, s, "SELECT count(*) FROM unscrubbed"), 0)
	check.Equal(t, "answer", check.Must(privacy.Of(storetest.Find(t, s, "terminal:general")).Traces(ctx, "u1"))(t), (privacy.Holding{Channel: "terminal:general", Messages: 2, Memories: 1}))
}

// TestQuotesAreFilledOnce deletes what tools found before quotes of it were stored.
func TestQuotesAreFilledOnce(t *testing.T) {
	dir := t.TempDir()
	leaveVersion(t, dir, 5)
	db := store.OpenFile(store.File(dir), store.WriterPragmas)
	for seq, text := range map[int]string{5: `{"messages":[{"seq":1,"text":"` + storetest.Secret + `"}]}`, 6: `{"messages":[{"seq":1,"text":"` + storetest.Secret, 7: `{"messages":[{"seq":2,"text":"here"}]}`} {
		check.Must(db.Exec(`INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to, calls, call_id, tool, native, said_at, saved_at, addressed, answered, attempts, tokens)
			SELECT 1 << 32 | ?1, turn, 'tool', '', '', '', ?2, '', '', '', 'c', 'recall', '', 1, 1, 0, NULL, 0, 9 FROM messages WHERE id = 1 << 32 | 4`, seq+100, text))(t)
	}
	check.Must(db.Exec("UPDATE conversations SET next_seq = 200 WHERE id = 1"))(t)
	check.NoError(t, db.Close())
	c := storetest.Find(t, storetest.OpenStore(t, dir), "terminal:general")
	if seqs, err := privacy.Of(c).Delete(ctx, []string{"m1"}); err != nil || !slices.Contains(seqs, 105) || !slices.Contains(seqs, 106) || slices.Contains(seqs, 107) {
		t.Errorf("changed are %v, %v", seqs, err)
	}
	for seq, want := range map[int64]string{105: store.DeletedCopyText, 106: store.DeletedCopyText, 107: `{"messages":[{"seq":2,"text":"here"}]}`} {
		check.Equal(t, fmt.Sprintf("#%d", seq), check.Must(c.Transcript().Message(ctx, seq))(t).Text, want)
	}
}
