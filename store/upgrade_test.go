package store_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
	"cairn/transcript"
)

// firstVersion is a file as the first version left it: a conversation with messages and
// everything else it can hold, an empty one, and one with a full inbox.
const firstVersion = `
INSERT INTO conversations (id, name, origin, next_seq, generation, cleared_to, created_at) VALUES
  (1, 'terminal:general', 'live', 5, 2, 3, 10), (2, 'terminal:empty', '', 1, 0, 0, 11), (3, 'terminal:full', '', 1, 0, 0, 12);
INSERT INTO inbox (id, conversation, platform_id, author_id, author, text, attachments, reply_to, said_at, received_at, addressed) VALUES
  (7, 3, 'm1', 'u1', 'Ann', 'are you there?', '[{"kind":"image","name":"cat.png","url":"https://x.test/cat"}]', 'm0', 1000, 1001, 1);
INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to, calls, call_id, tool, native, said_at, saved_at, addressed, answered, attempts, tokens) VALUES
  (1 << 32 | 1, 1, 'user', 'm1', 'u1', 'Ann', 'I live in Turin', '', '', '', '', '', '', 1000, 1001, 0, 2, 0, 9),
  (1 << 32 | 2, 2, 'user', 'm2', 'u1', 'Ann', 'what time is it?', '', 'm1', '', '', '', '', 2000, 2001, 1, 1, 1, 10),
  (1 << 32 | 3, 2, 'assistant', 'reply-3', '', '', 'half past nine', '', '', '', '', '', '{"a":1}', 3000, 3001, 0, NULL, 0, 8),
  (1 << 32 | 4, 4, 'user', 'm4', 'u2', 'Bob', 'and now?', '', '', '', '', '', '', 4000, 4001, 1, 0, 1, 7);
INSERT INTO compactions (id, conversation, kind, made_by, state, trigger, level, from_seq, to_seq, from_at, to_at, messages, children, text, tokens, created_at, staged_at, landed_at, generation) VALUES
  (1, 1, 'leaf', 'worker', 'active', 'background', 0, 1, 1, 1000, 1000, 1, '', 'Ann lives in Turin.', 9, 5000, 5001, 5002, 1),
  (2, 1, 'leaf', 'worker', 'staged', 'background', 0, 2, 3, 2000, 3000, 2, '', 'The time was told.', 8, 5003, 5004, NULL, NULL);
INSERT INTO memories (id, conversation, kind, content, folded, importance, speaker, about, made_by, compaction, said_at, saved_at) VALUES
  (1, 1, 'fact', 'Ann lives in Turin.', 'ann lives in turin', 0.5, 'Ann', 'Ann', 'worker', 1, 1000, 5001);
INSERT INTO memory_sources (memory, message) VALUES (1, 1 << 32 | 1);
INSERT INTO message_terms (conversation, term, seq, tf, length) VALUES (1, 'turin', 1, 1, 3);
INSERT INTO memory_terms (term, conversation, memory, tf, length) VALUES ('turin', 1, 1, 1, 3);
INSERT INTO outbox (id, conversation, reply, part, parts, answers, text, failure, state, platform_id, created_at, sent_at) VALUES
  (5, 1, 'reply-3', 0, 2, '["m2"]', 'half past', 0, 'sent', 'p1', 3000, 3002),
  (6, 1, 'reply-3', 1, 2, '["m2"]', ' nine', 0, 'sending', '', 3000, NULL),
  (9, 1, 'notice-4', 0, 1, '["m4"]', 'sorry', 1, 'waiting', '', 4000, NULL);
INSERT INTO models (name, window, updated_at) VALUES ('small', 4096, 1);
PRAGMA user_version = 1`

// leaveFirstVersion creates such a file in a folder.
func leaveFirstVersion(t *testing.T, dir string) {
	t.Helper()
	write(t, dir, store.DatabaseName, "")
	runScripts(t, dir, store.Migrations[0], firstVersion)
}

// runScripts runs SQL on the database in a folder.
func runScripts(t *testing.T, dir string, scripts ...string) {
	t.Helper()
	db := store.OpenFile(store.File(dir), store.WriterPragmas)
	defer db.Close()
	for _, script := range scripts {
		check.Must(db.Exec(script))(t)
	}
}

func TestUpgradeFromTheFirstVersion(t *testing.T) {
	dir := t.TempDir()
	leaveFirstVersion(t, dir)
	s := storetest.OpenStore(t, dir)
	c := storetest.Find(t, s, "terminal:general")
	t.Run("speakers of that time are known by name", func(t *testing.T) {
		found, err := memory.Of(c).Recall(ctx, memory.Question{Text: "Where does Ann live, in Turin?", Limit: 1})
		if err != nil || len(found) != 1 || found[0].Seq != 1 || storetest.Part(found[0], "speaker") <= 0 {
			t.Errorf("%+v, %v", found, err)
		}
	})
	t.Run("what was said in a language with stems of its own is found in other forms, and so is what a file holds", func(t *testing.T) {
		dir := t.TempDir()
		leaveFirstVersion(t, dir)
		runScripts(t, dir, `UPDATE messages SET text = 'Die Häuser sind alle aus Holz', attachments = '[{"kind":"file","name":"a.txt","text":"the kingfisher"}]' WHERE seq = 1`)
		c := storetest.Find(t, storetest.OpenStore(t, dir), "terminal:general")
		for _, word := range []string{"Haus", "kingfishers"} {
			found := check.Must(memory.Of(c).Recall(ctx, memory.Question{Text: word, Limit: 5}))(t)
			check.Len(t, word, found, 1)
			check.Equal(t, word+": found[0].Seq", found[0].Seq, 1)
		}
		if found, err := memory.Of(c).Recall(ctx, memory.Question{Text: "Turin", Limit: 5}); err != nil || found != nil {
			t.Errorf("got index %+v, %v", found, err)
		}
	})
	t.Run("the view is unchanged", func(t *testing.T) {
		state := storetest.Load(t, c)
		if state.Next != 5 || state.Open != 4 || state.Head.Version != 2 || state.Head.ClearedTo != 3 || storetest.Shape(state.Head.Stack) != "leaf worker 1-1" ||
			len(state.Prepared) != 1 || !slices.Equal(storetest.Seqs(state.Messages), []int64{2, 3, 4}) || !slices.Equal(storetest.Seqs(state.First), []int64{2, 3, 4}) {
			t.Errorf("loaded %+v", state)
		}
		if m := state.Messages[0]; m.ReplyTo != "m1" || m.ReplySeq != 0 || m.Quote != "" || m.Optional || m.Tokens != 10 {
			t.Errorf("got message 2 %+v", m)
		}
		head, applied := storetest.ApplyRows(t, c, 2)
		check.Equal(t, "applied rows", storetest.Shape(head.Stack), "leaf worker 1-1, leaf worker 2-3")
		check.Equal(t, "state of the first row", applied[0].State, transcript.Applied)
	})
	t.Run("rows applied then keep their place, and cannot be undone", func(t *testing.T) {
		all, err := storetest.Steps(c)
		if err != nil || len(all) != 2 || all[0].Next < 2 || all[0].Next > 5 || shape(all[0]) != "leaf worker 1-1" || all[1].Next != 5 {
			t.Errorf("%+v, %v", all, err)
		}
		undo(t, c) // applied since
		check.Equal(t, "answer", latest(t, c).Why, transcript.ErrNothingApplied.Error())
	})
}

func TestUpgradeKeepsPendingWork(t *testing.T) {
	dir := t.TempDir()
	leaveFirstVersion(t, dir)
	s := storetest.OpenStore(t, dir)
	c := storetest.Find(t, s, "terminal:general")
	t.Run("pieces keep their order, their rows and their states", func(t *testing.T) {
		pieces, err := c.Outbox().Unsent(ctx)
		want := []store.Piece{
			{Row: 6, Reply: "reply-3", Part: 1, Parts: 2, To: []string{"m2"}, Text: " nine", Sending: true},
			{Row: 9, Reply: "notice-4", Part: 0, Parts: 1, To: []string{"m4"}, Text: "sorry", Failure: true},
		}
		check.That(t, err == nil && reflect.DeepEqual(pieces, want), "%+v, %v", pieces, err)
		check.NoError(t, c.Outbox().Post(ctx, store.Outcome{Reply: "notice-9", Pieces: []string{"new"}}))
		if pieces, err := c.Outbox().Unsent(ctx); err != nil || len(pieces) != 3 || pieces[2].Row != 10 {
			t.Errorf("the next piece: %+v, %v", pieces, err)
		}
	})
	t.Run("a reply to a piece that was sent then finds its message", func(t *testing.T) {
		m := storetest.Said(9, "thanks")
		m.ReplyTo = "p1"
		check.Equal(t, "dequeued", storetest.Deliver(t, c, m)[0].ReplySeq, 3)
	})
	t.Run("a full inbox is taken up, and only where nothing was said the past is wanted", func(t *testing.T) {
		full := storetest.Find(t, s, "terminal:full")
		done, first, err := full.Past().ReadBack(ctx)
		check.That(t, !done && first == "m1" && err == nil, "full: %v, %q, %v", done, first, err)
		taken, err := full.Inbox().Dequeue(ctx, store.All, 100, time.Time{})
		if err != nil || len(taken) != 1 || taken[0].Text != "are you there?" || taken[0].Attachments[0].URL != "https://x.test/cat" || taken[0].Optional {
			t.Errorf("got dequeued %+v, %v", taken, err)
		}
		for name, want := range map[string]bool{"terminal:general": true, "terminal:empty": false} {
			done, _, err := storetest.Find(t, s, name).Past().ReadBack(ctx)
			check.Equal(t, name, done, want)
			check.NoError(t, err)
		}
		if _, open, err := c.Past().Gap(ctx); open || err != nil {
			t.Errorf("a gap is open, %v", err)
		}
	})
	t.Run("what was said then can be edited and deleted", func(t *testing.T) {
		storetest.Edit(t, c, 4, "and tomorrow?")
		check.EqualAll(t, "deleted", storetest.Remove(t, c, 1), []int64{1})
		check.Equal(t, "memory", storetest.Number(t, s, "SELECT count(*) FROM memories"), 0)
	})
}
