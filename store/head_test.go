package store_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/llm"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

const (
	general = "discord:1/2"
	inside  = "discord:1/2/m8" // a thread of it, on its eighth message
)

// channelOf returns a channel with nine messages and summaries over the first six.
func channelOf(t *testing.T, s *store.Store) *store.Conversation {
	t.Helper()
	c := find(t, s, general)
	deliver(t, c, bicycles()...)
	play(t, c, "leaf 1-3: Bicycles were bought.; leaf 4-6: Bicycles and a "+secret+" were bought."+long+"; apply")
	return c
}

// thread returns a thread of the channel that has a message.
func thread(t *testing.T, s *store.Store, root string) *store.Conversation {
	t.Helper()
	c := find(t, s, general+"/"+root)
	deliver(t, c, said(1, "what do you think?"))
	return c
}

func TestInherit(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	above := channelOf(t, s)
	c := find(t, s, inside)
	before := load(t, c).Head
	check.That(t, before.Inherited.Root == nil && len(before.Inherited.Stack) == 0, "got an inheritance before the first message")
	deliver(t, c, said(1, "what do you think?"))
	head := load(t, c).Head
	rows := head.Inherited.Stack
	root := head.Inherited.Root
	check.That(t, head.Version > before.Version, "got version %d after %d", head.Version, before.Version)
	check.Equal(t, "inherited", storetest.Shape(rows), "leaf  1-3, leaf  4-6")
	check.That(t, strings.Contains(rows[1].Text, secret) && rows[0].Tokens == rows[0].InheritedCost(), "got inherited %+v", rows)
	check.Require(t, root != nil, "got no parent message")
	check.Equal(t, "parent message", root.Author+": "+root.Text, "Ann: I bought red bicycles in Turin.")
	check.Equal(t, "time of the parent message", root.Time.UTC(), said(8, "").Time)
	check.Equal(t, "its channel", number(t, s, "SELECT count(*) FROM conversations WHERE name = ? AND parent = ?", inside, above.ID()), 1)
	// It inherits once.
	play(t, above, "sum 7-7: More.; edit 8: I bought nothing.; edit 2: I bought nothing.")
	deliver(t, c, said(2, "more"))
	check.That(t, reflect.DeepEqual(load(t, c).Head, head), "a later change reached the thread")
	check.That(t, reflect.DeepEqual(load(t, reopen(t, c)).Head, head), "a restart changed the inheritance")
}

func TestThreadParentMessage(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	above := channelOf(t, s)
	turn := deliver(t, above, asking(10, "what time is it?"))[0].Seq
	storetest.Finish(t, above, turn, "reply-11", "half past nine")
	storetest.Run(t, s, "UPDATE outbox SET state = 'sent', platform_id = 'p1' WHERE reply = 'reply-11'")
	deliverOnly(t, above, said(12, "waits"))
	waiting := thread(t, s, "m12")
	wantRoot := func(c *store.Conversation, role llm.Role, text string, rows int) {
		t.Helper()
		in := load(t, c).Head.Inherited
		if in.Root == nil {
			in.Root = &chat.Message{}
		}
		check.That(t, in.Root.Role == role && in.Root.Text == text && len(in.Stack) == rows, "%s: got %+v, %d rows", c.Name(), in.Root, len(in.Stack))
	}
	wantRoot(thread(t, s, "p1"), llm.RoleAssistant, "the answer", 2) // a reply of the bot, by its platform id
	wantRoot(waiting, llm.RoleUser, "waits", 2)
	remove(t, above, 12)
	wantRoot(waiting, "", "", 2)
	wantRoot(thread(t, s, "m99"), "", "", 2)
	startSession(t, above)
	wantRoot(thread(t, s, "m9"), llm.RoleUser, "I bought red bicycles in Turin.", 0) // sessions before /new are not inherited
}

func TestDeletionsReachThreads(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	above := channelOf(t, s)
	deliver(t, above, storetest.Quoting(10, "indeed", "elsewhere", `Bob: "a `+secret+`"`))
	threads := []*store.Conversation{thread(t, s, "m5"), thread(t, s, "m8"), thread(t, s, "m10")}
	play(t, above, "roll 1-6: Many things, and a "+secret+"; apply") // in the channel, the rows have changed in the meantime
	root := func(n int) *chat.Message { return load(t, threads[n]).Head.Inherited.Root }
	check.Contains(t, "the quote of the parent message", root(2).Quote, secret)
	told := map[string]bool{}
	s.Watch(func(name string) { told[name] = true })
	versions := storetest.Map(threads, func(c *store.Conversation) int64 { return load(t, c).Head.Version })
	check.NoError(t, privacy.Of(above).Delete(ctx, []string{"elsewhere"}))
	check.Equal(t, "the quote", root(2).Quote, "")
	remove(t, above, 5)
	for n, c := range threads {
		head := load(t, c).Head
		check.That(t, head.Version > versions[n] && told[c.Name()], "%s is not notified", c.Name())
		row := head.Inherited.Stack[1]
		empty := row.Kind == transcript.Placeholder && row.Messages == 2 && row.Tokens == row.InheritedCost() && row.Text == ""
		check.That(t, empty && head.Inherited.Stack[0].Text == "Bicycles were bought.", "%s: got %+v", c.Name(), head.Inherited.Stack)
		check.Equal(t, c.Name()+" has a parent message", root(n) != nil, n > 0)
	}
	check.Lacks(t, "dump", dump(t, s), secret)
	t.Run("quotes of the deleted parent message are removed, waiting or dequeued", func(t *testing.T) {
		deliver(t, above, said(11, "a "+secret))
		c := find(t, s, general+"/m11")
		deliver(t, c, storetest.Quoting(1, "really?", "m11", `Bob: "a `+secret+`"`))
		deliverOnly(t, c, storetest.Quoting(2, "really?", "m11", `Bob: "a `+secret+`"`))
		remove(t, above, 11)
		check.Lacks(t, "dump", dump(t, s), secret)
	})
	// In the same transaction.
	before := dump(t, s)
	accept := storetest.Refuse(t, s, "UPDATE ON inherited", "no")
	err := privacy.Of(above).Delete(ctx, []string{"m4"})
	check.That(t, err != nil && dump(t, s) == before, "got half a deletion: %v", err)
	accept()
	late := thread(t, s, "none")
	remove(t, above, 2)
	rows := load(t, late).Head.Inherited.Stack
	check.That(t, len(rows) == 1 && rows[0].Messages == 4 && rows[0].Kind == transcript.Placeholder, "a copy of a rollup: got %+v", rows)
}

// An answer without a model quotes what a tool found; a later tool finds both, threads begin with it, and it may not be sent yet.
func TestDeletionsReachCopiesOfAnswers(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	above := find(t, s, general)
	deliver(t, above, said(1, "my locker is "+secret), asking(2, "where is my locker?"))
	answer := "This is what I found:\n- Ann: “my locker is " + secret + "”"
	recalled := llm.Result{Text: `{"messages":[{"seq":1,"text":"` + secret + `"}]}`, Quotes: llm.Quotes{Messages: []int64{1}}}
	storetest.AnswerWith(t, above, storetest.Answer{Turn: 2, First: 3}, map[string]llm.Result{"recall": recalled, "reply": {Text: answer}})
	storetest.Run(t, s, "UPDATE outbox SET platform_id = 'p1'") // it may have arrived
	thread(t, s, "m2")
	thread(t, s, "p1")
	deliver(t, above, asking(6, "again?"))
	found := check.Must(storetest.Call(storetest.ToolsAt(above, 6), "expand", `{"from":3,"to":5}`))(t)
	check.Contains(t, "found", found.Text, secret)
	storetest.AnswerWith(t, above, storetest.Answer{Turn: 6, First: 7}, map[string]llm.Result{"expand": found})
	deliver(t, above, asking(10, "once more?"))
	remove(t, above, 1)
	storetest.AnswerWith(t, above, storetest.Answer{Turn: 10, First: 11}, map[string]llm.Result{"recall": recalled, "reply": {Text: answer}})
	storetest.Run(t, s, "UPDATE messages SET calls = '' WHERE role = 'assistant'") // the double's calls repeat it
	storetest.WantNoSecret(t, above)
}

// answerUnder finishes the turn of message asked with a reply and a context, and reports whether the context was stored.
func answerUnder(t *testing.T, c *store.Conversation, asked int64, ctxOf transcript.Context, version int64) (stored bool) {
	t.Helper()
	ctxOf.Seq = asked
	row := chat.Message{Seq: asked + 1, Turn: asked, Role: llm.RoleAssistant, ID: fmt.Sprint("reply-", asked+1), Text: "so it is", Time: storetest.Day}
	row.Tokens = chat.TokensOf(row)
	outcome := store.Outcome{Turn: asked, Messages: []chat.Message{row}, Reply: row.ID, Pieces: []string{row.Text}, Context: ctxOf, Version: version}
	return check.Must(c.Turns().Finish(ctx, outcome))(t)
}

// withContext returns a conversation whose third message has a turn context, which quotes the first message and a memory of it.
func withContext(t *testing.T) (*store.Conversation, int64) {
	t.Helper()
	c := newTalk(t)
	deliver(t, c, said(1, "I play the theremin"), said(2, "b"))
	kept := storetest.Keep(t, c, "Ann", "Ann plays the theremin.", 1).ID
	deliver(t, c, asking(3, "what do I play?"))
	answerUnder(t, c, 3, transcript.Context{Text: "time: now", Quotes: llm.Quotes{Messages: []int64{1}, Memories: []int64{kept}}}, storetest.Version(t, c))
	return c, kept
}

func wantContexts(t *testing.T, c *store.Conversation, want ...transcript.Context) {
	t.Helper()
	check.Equal(t, "contexts", fmt.Sprint(load(t, c).Contexts), fmt.Sprint(want))
	if want == nil {
		const rows = "SELECT (SELECT count(*) FROM messages WHERE context <> '') + (SELECT count(*) FROM quotes)"
		check.Equal(t, "rows left", number(t, c.Store(), rows), 0)
	}
}

func TestTurnContextIsStoredUntilHeadChanges(t *testing.T) {
	c, kept := withContext(t)
	deliver(t, c, asking(5, "and you?"))
	check.Equal(t, "stored", answerUnder(t, c, 5, transcript.Context{Text: "time: later"}, storetest.Version(t, c)), true)
	wantContexts(t, c, transcript.Context{Seq: 3, Text: "time: now", Quotes: llm.Quotes{Messages: []int64{1}, Memories: []int64{kept}}}, transcript.Context{Seq: 5, Text: "time: later"})
	for _, step := range []string{"sum 1-2", "delete 1", "edit 2"} {
		t.Run("it is removed after "+step, func(t *testing.T) {
			c, _ := withContext(t)
			play(t, c, step)
			wantContexts(t, c)
		})
	}
	for name, do := range map[string]func(ms memory.Memories, id int64) error{
		"forgotten": func(ms memory.Memories, id int64) error { return ms.Forget(ctx, id) },
		"purged":    func(ms memory.Memories, id int64) error { return ms.Purge(ctx, id) },
	} {
		t.Run("so are those that quote a memory that is "+name+", in other conversations too", func(t *testing.T) {
			c, kept := withContext(t)
			other := find(t, c.Store(), "terminal:elsewhere")
			deliver(t, other, asking(1, "who plays?"))
			answerUnder(t, other, 1, transcript.Context{Text: "Ann plays", Quotes: llm.Quotes{Memories: []int64{kept}}}, storetest.Version(t, other))
			var told []string
			c.Store().Watch(func(conversation string) { told = append(told, conversation) })
			before := storetest.Version(t, c)
			elsewhere := storetest.Version(t, other)
			check.NoError(t, do(memory.In(c.Store()), kept))
			wantContexts(t, c)
			wantContexts(t, other)
			check.EqualAll(t, "reported", told, []string{"terminal:elsewhere", "terminal:general"})
			check.That(t, storetest.Version(t, c) != before && storetest.Version(t, other) != elsewhere, "a version is the same")
		})
	}
	check.NoError(t, privacy.Of(c).Purge(ctx))
	wantContexts(t, c)
}

func TestContextsNotStored(t *testing.T) {
	for claim, test := range map[string]struct {
		meanwhile string             // a step during the turn; "forget": the memory
		quoted    transcript.Context // 1: the memory
		old       bool               // it is of the head before
	}{
		"quotes a memory that was purged":                      {"", transcript.Context{Quotes: llm.Quotes{Memories: []int64{2}}}, false},
		"is of an older head":                                  {"sum 1-2", transcript.Context{}, true},
		"quotes a message deleted during the turn":             {"delete 1", transcript.Context{Quotes: llm.Quotes{Messages: []int64{1}}}, false},
		"quotes a memory of a message deleted during the turn": {"delete 1", transcript.Context{Quotes: llm.Quotes{Memories: []int64{1}}}, false},
		"quotes a memory forgotten during the turn":            {"forget", transcript.Context{Quotes: llm.Quotes{Memories: []int64{1}}}, false},
	} {
		t.Run("a context that "+claim, func(t *testing.T) {
			c, kept := withContext(t)
			version := storetest.Version(t, c)
			deliver(t, c, asking(5, "and you?"))
			if test.meanwhile == "forget" {
				check.NoError(t, memory.Of(c).Forget(ctx, kept))
			}
			play(t, c, test.meanwhile)
			if !test.old {
				version = storetest.Version(t, c)
			}
			test.quoted.Text = "you play the theremin"
			check.Equal(t, "stored", answerUnder(t, c, 5, test.quoted, version), false)
		})
	}
}

func TestPins(t *testing.T) {
	c := imported(t, 10)
	version := load(t, c).Head.Version
	want := func(what string, raised bool, want ...int64) []transcript.Pin {
		t.Helper()
		head := load(t, c).Head
		check.Equal(t, what+": version raised", head.Version > version, raised)
		version = head.Version
		check.Len(t, what, head.Pins, len(want))
		for i, p := range head.Pins {
			check.That(t, p.Seq == want[i] && p.By == "Ann" && p.Text != "", "%s: got pinned %+v, want %v", what, p, want)
		}
		return head.Pins
	}
	pin := func(seq int64, fresh bool, pins ...int64) {
		t.Helper()
		check.Equal(t, "pinned", check.Must(c.Transcript().Pin(ctx, seq, store.Person{Name: "Ann"}))(t), fresh)
		want(fmt.Sprint("pin ", seq), fresh, pins...)
	}
	pin(7, true, 7)
	storetest.Run(t, c.Store(), "UPDATE pins SET made_at = 1")
	pin(2, true, 7, 2)
	pin(7, false, 7, 2)
	check.Error(t, check.ErrorOf(c.Transcript().Pin(ctx, 99, store.Person{Name: "Ann"})), store.ErrNotFound)
	edit(t, c, 7, "other words")
	check.Equal(t, "text", want("after an edit", true, 7, 2)[0].Text, "other words")
	storetest.Run(t, c.Store(), "UPDATE conversations SET session_start = 5")
	pins := want("in the next session", false, 7, 2)
	check.That(t, !pins[0].Earlier && pins[1].Earlier, "got %+v", pins)
	storetest.Run(t, c.Store(), "UPDATE conversations SET session_start = 1")
	remove(t, c, 7)
	want("after a deletion", true, 2)
	check.Error(t, check.ErrorOf(c.Transcript().Pin(ctx, 7, store.Person{Name: "Ann"})), store.ErrNotFound)
	check.NoError(t, c.Transcript().Unpin(ctx, 2))
	want("without the last", true)
	check.Error(t, c.Transcript().Unpin(ctx, 2), store.ErrNotFound)
}
