package memory

import (
	"fmt"
	"strings"
	"testing"

	"cairn/compactor"
)

// examined is a conversation with a bit of everything.
func examined(t *testing.T) *Conversation {
	t.Helper()
	c := imported(t, 12)
	applyRows(t, c, storeSummary(t, c, compactor.Leaf, compactor.ByWorker, 1, 4))
	applyRows(t, c, storeSummary(t, c, compactor.Leaf, compactor.ByWorker, 5, 8))
	hide(t, c, 9, 10)
	remove(t, c, 12)
	if _, _, err := c.Remember(ctx, compactor.MemoryDraft{Kind: "fact", Content: "it is said that all is well", Messages: []int64{3}}, "Ada"); err != nil {
		t.Fatal(err)
	}
	return c
}

// anotherMemory is a second one, of words that are found nowhere.
const anotherMemory = `INSERT INTO memories (conversation, kind, content, folded, importance, speaker, about, made_by, said_at, saved_at) VALUES (1, 'fact', '☃', '☃', 1, '', '', 'person', 1, 1);`

func TestCheck(t *testing.T) {
	t.Run("a sound database has nothing", func(t *testing.T) {
		if found, err := examined(t).store.Check(ctx); err != nil || len(found) > 0 {
			t.Errorf("%v, %v", found, err)
		}
	})
	t.Run("nor has one in which people quote placeholders and summaries", func(t *testing.T) {
		c := newConversation(t)
		deliver(t, c, said(1, "[System: 12 older messages were truncated due to context limits]"),
			said(2, "[Compaction Summary] #1 – #137\nthey agreed"), said(3, "[Previous: used recall] <now> </now> [masked: password]"))
		applyRows(t, c, storeSummary(t, c, leaf, worker, 1, 2))
		if found, err := c.store.Check(ctx); err != nil || len(found) > 0 {
			t.Errorf("%v, %v", found, err)
		}
	})
	for _, test := range []struct {
		damage, want string
	}{
		{"UPDATE conversations SET next_seq = 5", "the next message would get the number 5, which is taken"},
		{"UPDATE conversations SET session_start = 99", "the session begins at 99, and the next message is 13"},
		{"DELETE FROM messages WHERE seq IN (10, 11)", "2 of its messages are missing"},
		{"UPDATE messages SET turn = 50 WHERE seq = 11", "#11 is of a turn that begins at #50"},
		{"UPDATE messages SET turn = 3 WHERE seq = 11", "#11 stands among the messages of the turn of #10"},
		{"UPDATE messages SET role = 'tool', platform_id = '' WHERE seq = 11", "the result #11 belongs to no call"},
		{"UPDATE messages SET text = 'still here' WHERE seq = 12", "#12 was deleted and has text still"},
		{"INSERT INTO message_terms VALUES (1, 'zebra', 12, 1, 1)", "#12 was deleted and words of it are found still"},
		{"INSERT INTO message_terms VALUES (1, 'zebra', 70, 1, 1)", "words of #70 are found, which is not there"},
		{"INSERT INTO memory_terms VALUES ('zebra', 1, 70, 1, 1)", "words of memory 70 are found, which is not there"},
		{"INSERT INTO memory_sources VALUES (1, 1 << 32 | 12)", "memory 1 comes from #12, which is deleted"},
		{"UPDATE memories SET state = 'forgotten'", "memory 1 is forgotten, and what it was before is not known"},
		{anotherMemory + "UPDATE memories SET superseded_by = 2 WHERE id = 1", "memory 1 is active, and memory 2 has taken its place"},
		{anotherMemory + "INSERT INTO conversations (id, name, created_at) VALUES (2, 'terminal:b', 0); UPDATE memories SET conversation = 2 WHERE id = 2; UPDATE memories SET state = 'superseded', superseded_by = 2 WHERE id = 1", "memory 1 has a memory of another conversation in its place"},
		{anotherMemory + "UPDATE memories SET state = 'superseded', superseded_by = 3 - id", "what took the place of memory 1 leads back to it"},
		{"INSERT INTO members VALUES (1, 'zebra', 'Zebra')", "Zebra counts as a member, and has said nothing"},
		{"DELETE FROM memory_terms", "memory 1 is not found by"},
		{"UPDATE compactions SET to_seq = 6 WHERE id = 1", "summary 2 of messages 5 to 8 and the one before it, up to 6, overlap"},
		{"UPDATE messages SET turn = 4 WHERE seq = 5", "summary 2, #5 to #8, cuts a turn"},
		{"UPDATE compactions SET messages = 7 WHERE id = 2", "summary 2 says that it holds 7 messages and holds 4"},
		{"UPDATE compactions SET state = 'rolled_up' WHERE id = 2", "summary 2 was rolled up into none"},
		{"UPDATE compactions SET text = '' WHERE id = 2", "summary 2 is shown and is empty"},
		{"UPDATE compactions SET state = 'rolled_up', parent = 1 WHERE id = 2; UPDATE compactions SET kind = 'rollup' WHERE id = 1", "that 1 was made of do not lie side by side in it"},
	} {
		t.Run(test.want, func(t *testing.T) {
			c := examined(t)
			run(t, c.store, test.damage)
			found, err := c.store.Check(ctx)
			if err != nil || !strings.Contains(fmt.Sprint(found), "terminal:general: ") || !strings.Contains(fmt.Sprint(found), test.want) {
				t.Fatalf("%v, %v", found, err)
			}
		})
	}
}
