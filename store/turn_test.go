package store_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"cairn/chat"
	"cairn/llm"
	"cairn/llm/prices"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

func usageTexts(all []store.Usage) []string {
	return storetest.Map(all, func(u store.Usage) string { return fmt.Sprint(u) })
}

func usageRow(day, kind, model string, n int64) store.Usage {
	used := prices.Tokens{Input: 100 * n, Cached: 50 * n, Written: 10 * n, Output: 5 * n}
	return store.Usage{Conversation: "terminal:general", Day: day, Kind: kind, Model: model, Requests: n, Tokens: used}
}

func fullAnswer(turn int64) store.Outcome {
	return store.Outcome{
		Turn: turn, Reply: "r1", To: []string{"m1"}, Pieces: []string{"half past", " nine"},
		Usage: []store.Usage{usageRow("2026-03-28", store.ForTurn, "m", 2)},
		Messages: []chat.Message{
			{Seq: turn + 1, Turn: turn, Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "c1", Name: "clock", Arguments: "{"}}, Native: []byte(`{"a": 1}`), Time: storetest.Day, Tokens: 9},
			{Seq: turn + 2, Turn: turn, Role: llm.RoleTool, CallID: "c1", Tool: "clock", Text: "9:30", Time: storetest.Day, Tokens: 8},
			{Seq: turn + 3, Turn: turn, Role: llm.RoleAssistant, Text: "half past nine", Time: storetest.Day, Tokens: 7},
		},
	}
}

func unsent(t *testing.T, c *store.Conversation) []store.Piece {
	t.Helper()
	return check.Must(c.Outbox().Unsent(ctx))(t)
}

// A turn is finished once, with its tools, pieces and usage, and nothing is half written.
func TestFinishedTurn(t *testing.T) {
	c := newTalk(t)
	turn := deliver(t, c, asking(1, "what time is it?"))[0].Turn
	before := dump(t, c.Store())
	taken := fullAnswer(turn)
	person := fullAnswer(turn)
	taken.Messages[2].Seq = turn
	person.Messages[1].Role = llm.RoleUser
	for _, bad := range []store.Outcome{taken, person} {
		check.That(t, check.ErrorOf(c.Turns().Finish(ctx, bad)) != nil, "%+v was written", bad.Messages)
	}
	check.Equal(t, "state after a refused outcome", dump(t, c.Store()), before)
	check.Len(t, "its usage", check.Must(c.Turns().Usage(ctx))(t), 0)
	o := fullAnswer(turn)
	check.Must(c.Turns().Finish(ctx, o))(t)
	check.Error(t, check.ErrorOf(c.Turns().Finish(ctx, o)), store.ErrNotFound)
	check.EqualAll(t, "usage", usageTexts(check.Must(c.Turns().Usage(ctx))(t)), usageTexts(o.Usage))
	state := load(t, c)
	check.That(t, state.Open == 0 && state.Next == 5 && reflect.DeepEqual(state.Messages[1:], o.Messages), "loaded %+v", state)
	_, ok, err := c.Turns().Unanswered(ctx)
	check.That(t, !ok && err == nil, "unanswered: %v, %v", ok, err)
	want := []store.Piece{
		{Row: 1, Reply: "r1", Part: 0, Parts: 2, To: []string{"m1"}, Text: "half past"},
		{Row: 2, Reply: "r1", Part: 1, Parts: 2, To: []string{"m1"}, Text: " nine"},
	}
	check.That(t, reflect.DeepEqual(unsent(t, c), want), "outbox %+v", unsent(t, c))
	check.NoError(t, c.Outbox().Sent(ctx, 1, "p1"))
	// A retry counts, and a failure closes the turn without an assistant message.
	turn = deliver(t, c, asking(9, "and now?"))[0].Turn
	check.Equal(t, "attempt", check.Must(c.Turns().Retry(ctx, turn))(t), 2)
	check.Must(c.Turns().Finish(ctx, store.Outcome{Turn: turn, Reply: "r2", Pieces: []string{"sorry"}, Failure: true}))(t)
	check.Error(t, check.ErrorOf(c.Turns().Retry(ctx, turn)), store.ErrNotFound)
	check.Equal(t, "answered", number(t, c.Store(), "SELECT answered FROM messages WHERE seq = ?", turn), store.Closed)
	check.That(t, unsent(t, c)[1].Failure, "%+v", unsent(t, c))
}

func wantUnfinished(t *testing.T, s *store.Store, names ...string) {
	t.Helper()
	check.EqualAll(t, "unfinished", check.Must(s.Unfinished(ctx))(t), names)
}

func TestUnfinished(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	asked := find(t, s, "terminal:asked")
	done := find(t, s, "terminal:done")
	inbox := find(t, s, "terminal:inbox")
	deliver(t, done, said(1, "overheard"))
	wantUnfinished(t, s)
	deliver(t, asked, asking(1, "hi"))
	deliverOnly(t, inbox, asking(1, "hi"))
	wantUnfinished(t, s, "terminal:asked", "terminal:inbox")
	check.Must(asked.Turns().Finish(ctx, store.Outcome{Turn: 1, Reply: "r", Pieces: []string{"hello"}}))(t)
	deliver(t, inbox)
	wantUnfinished(t, s, "terminal:asked", "terminal:inbox")
	check.NoError(t, asked.Outbox().Sent(ctx, 1, "p"))
	wantUnfinished(t, s, "terminal:inbox")
	storetest.Hide(t, done, 1, 1)
	wantUnfinished(t, s, "terminal:done", "terminal:inbox") // a placeholder needs to be filled and repaired
}

func TestConversations(t *testing.T) {
	dir := t.TempDir()
	s := storetest.OpenStore(t, dir)
	shell := openShared(t, dir)
	names := []string{"terminal:'; --", "discord:1/2/3", "slack:\u202ee", "terminal:" + strings.Repeat("n", store.MaxName-9)}
	for _, name := range names {
		var wg sync.WaitGroup // concurrent callers who name a conversation get the same one, also from a shell beside the bot
		for i := range 6 {
			wg.Go(func() { check.Error(t, check.ErrorOf([]*store.Store{s, shell}[i%2].Conversation(ctx, name)), nil) })
		}
		wg.Wait()
		c := find(t, s, name)
		again := find(t, s, name)
		check.Equal(t, "conversations", *again, *c)
		check.Equal(t, "name", again.Name(), name)
	}
	var known []string
	check.NoError(t, s.View(ctx, func(tx *store.Tx) { known = store.Values[string](tx, "SELECT name FROM conversations ORDER BY id") }))
	check.EqualAll(t, "known", known, names)
	for _, name := range []string{"", "\xff", "a\x00", strings.Repeat("n", store.MaxName+1)} {
		check.That(t, check.ErrorOf(s.Conversation(ctx, name)) != nil, "%q is accepted as a name", name)
	}
	check.Error(t, check.ErrorOf(s.Find(ctx, "terminal:none")), store.ErrNotFound)
}

func TestOutbox(t *testing.T) {
	c := newTalk(t)
	notice := store.Outcome{Reply: "notice-1", To: []string{"m1"}, Pieces: []string{"wait", " a", " minute"}, Failure: true}
	for range 2 {
		check.NoError(t, c.Outbox().Post(ctx, notice))
		notice.Pieces = append(notice.Pieces, " please")
	}
	pieces := unsent(t, c)
	check.Len(t, "posted once", pieces, 3)
	check.That(t, pieces[1].Text == " a" && pieces[0].Failure && slices.Equal(pieces[0].To, []string{"m1"}), "got %+v", pieces)
	other := find(t, c.Store(), "terminal:other")
	check.NoError(t, other.Outbox().Post(ctx, notice))
	check.Len(t, "the id in another conversation", unsent(t, other), 5)
	check.Error(t, other.Outbox().Sent(ctx, 1, "p"), store.ErrNotFound) // a piece of the first one
	check.Error(t, other.Outbox().Drop(ctx, 1, "no"), store.ErrNotFound)
	for want := 1; want <= 3; want++ {
		if want == 3 { // across a restart
			c = reopen(t, c)
		}
		check.Equal(t, "refusals", check.Must(c.Outbox().Refused(ctx, 2))(t), want)
	}
	check.Equal(t, "refusals of another piece", check.Must(c.Outbox().Refused(ctx, 1))(t), 1)
	check.NoError(t, c.Outbox().Sending(ctx, 2))
	check.That(t, !unsent(t, c)[0].Sending && unsent(t, c)[1].Sending, "%+v", unsent(t, c))
	for _, row := range []int64{1, 2} {
		check.NoError(t, c.Outbox().Drop(ctx, row, "the channel is gone"))
	}
	check.That(t, len(unsent(t, c)) == 1 && unsent(t, c)[0].Text == " minute", "got left %+v", unsent(t, c))
	wantUnfinished(t, c.Store(), c.Name(), other.Name())
	for _, again := range []error{
		c.Outbox().Sending(ctx, 1), c.Outbox().Sent(ctx, 1, "p1"), c.Outbox().Drop(ctx, 1, "again"),
		check.ErrorOf(c.Outbox().Refused(ctx, 1)),
	} {
		check.Error(t, again, store.ErrNotFound)
	}
	const dropped = "SELECT count(*) FROM outbox WHERE state = 'dropped' AND error = 'the channel is gone' AND sent_at > 0"
	check.Equal(t, "rows with the reason", number(t, c.Store(), dropped), 2)
	check.NoError(t, c.Outbox().Sent(ctx, 3, "p3"))
	wantUnfinished(t, c.Store(), other.Name())
	check.Error(t, c.Outbox().Drop(ctx, 3, "late"), store.ErrNotFound)
}

func TestPauses(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	p := s.Pauses()
	want := func(err error, want ...string) {
		t.Helper()
		check.NoError(t, err)
		check.EqualAll(t, "pauses", check.Must(p.List(ctx))(t), want)
	}
	want(p.Pause(ctx, "slack:1/2", store.Person{Name: "Ann"}), "slack:1/2")
	want(p.Pause(ctx, "", store.Person{Name: "Bob"}), "", "slack:1/2")
	want(p.Pause(ctx, "", store.Person{Name: "Ann"}), "", "slack:1/2")
	want(p.Resume(ctx, ""), "slack:1/2")
	want(p.Resume(ctx, "slack:9/9"), "slack:1/2")
	storetest.Run(t, s, "DELETE FROM pauses")
	want(nil, "slack:1/2") // a turn asks too often to read it each time
	want(p.Resume(ctx, "slack:1/2"))
}

// TestOverrides: a step sets a key, or removes it, in the channel or in its thread; ^ follows what a thread has from its channel.
func TestOverrides(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	of := map[string]*store.Conversation{
		"channel": find(t, s, "discord:1/2"), "thread": find(t, s, "discord:1/2/3"),
		"another": find(t, s, "discord:1/3"), "its thread": find(t, s, "discord:1/2x/3"),
	}
	for _, step := range []struct{ where, set, seen, channel, thread string }{
		{"channel", "focus=", "map[focus:]", "focus=", "focus=^"},
		{"channel", "enabled=true", "map[enabled:true focus:]", "enabled=true focus=", "enabled=true^ focus=^"},
		{"channel", "enabled=false", "map[enabled:false focus:]", "enabled=false focus=", "enabled=false^ focus=^"},
		{"channel", "notify", "map[enabled:false focus:]", "enabled=false focus=", "enabled=false^ focus=^"}, // it was not set
		{"channel", "refused=99", "map[enabled:false focus: refused:99]", "enabled=false focus=", "enabled=false^ focus=^"},
		{"thread", "enabled=true", "map[enabled:true focus:]", "enabled=false focus=", "enabled=true focus=^"},
		{"thread", "enabled", "map[enabled:false focus:]", "enabled=false focus=", "enabled=false^ focus=^"},
		{"channel", "focus", "map[enabled:false]", "enabled=false", "enabled=false^"},
	} {
		key, value, isSet := strings.Cut(step.set, "=")
		refused := map[string]error{"refused": errBroken}[key]
		values := map[string]*string{key: map[bool]*string{true: &value}[isSet]}
		err := of[step.where].Settings().OverrideAll(ctx, values, store.Person{Name: "Ann"}, func(seen map[string]string) error {
			check.Equal(t, step.set+": what is checked", fmt.Sprint(seen), step.seen)
			return refused
		})
		check.Error(t, err, refused)
		for name, want := range map[string]string{"channel": step.channel, "thread": step.thread, "another": "", "its thread": ""} {
			var has []string
			for _, o := range check.Must(of[name].Settings().Set(ctx))(t) {
				has = append(has, o.Key+"="+o.Value+map[bool]string{true: "^"}[o.Above])
				check.Equal(t, "set by", o.By, "Ann")
			}
			check.Equal(t, name+" after "+step.set, strings.Join(has, " "), want)
		}
	}
}

func task(t *testing.T, above *store.Conversation, message string) *store.Conversation {
	t.Helper()
	began := check.Must(above.Tasks().Begin(ctx, store.NewTask{Task: store.Task{Agent: "one", Text: "count"}, Message: message, Max: 4, Chain: 8}))(t)
	return check.Must(above.Store().Find(ctx, began.Conversation))(t)
}

func TestTasks(t *testing.T) {
	root := newTalk(t)
	above := task(t, root, "count the towers; Ada lives in Turin")
	goOn := func(when string, child *store.Conversation, want int) {
		t.Helper()
		check.NoError(t, child.Tasks().Continue(ctx, "go on"))
		check.Len(t, "messages "+when, deliver(t, child), want)
	}
	first := deliver(t, above)[0].ID
	final := func(when string, want bool, answers ...string) {
		t.Helper()
		check.Equal(t, "final "+when, check.Must(above.Tasks().Final(ctx, answers))(t), want)
	}
	final("with nothing below", true, first)
	below := task(t, above, "count")
	goOn("while one waits", below, 1)
	goOn("once nothing waits", below, 1)
	final("while a task below is open", false, first)
	check.Must(below.Tasks().End(ctx, store.TaskDone, "one", "42"))(t)
	goOn("once it has ended", below, 0)
	final("while a result waits in the inbox", false, first)
	storetest.Finish(t, above, 1, "reply-2", "I wait")
	result := deliver(t, above)[0].ID
	final("once the result is taken up", false, first)
	final("when it answers the result", true, result)
	final("when it answers both", true, first, result)
	// A message to a task repeats text from elsewhere, which is remembered there.
	deliver(t, above, said(4, "Ben lives in Parma"))
	read := check.Must(begin(t, above, 1, 4).Messages(ctx, transcript.Span{From: 1, To: 4}))(t)
	check.That(t, read[0].Unremembered && !read[len(read)-1].Unremembered, "got %+v", read)
	// Its instructions repeat its sources, one of which was deleted while the model wrote them.
	remove(t, above, 4)
	_, err := above.Tasks().Begin(ctx, store.NewTask{Task: store.Task{Agent: "one", Text: "greet Ben", Sources: []int64{3, 4}}, Message: "greet Ben", Max: 9, Chain: 9})
	check.ErrorContains(t, "error", err, "#4")
}

// An import of memories creates conversations of tasks that are not here.
func TestTaskBesideImportedMemories(t *testing.T) {
	c := newTalk(t)
	var all []memory.Exported
	for _, name := range []string{"task:" + c.Name() + "/2", "task:" + c.Name() + "/7/1", "task:task:" + c.Name() + "/2/9"} {
		all = append(all, memory.Exported{Memory: memory.Memory{Memory: store.Memory{Conversation: name, Content: "There are 12 bridges.", Kind: "fact", SaidAt: storetest.Day}}})
	}
	check.Must(memory.In(c.Store()).Import(ctx, all))(t)
	for _, name := range []string{"/1", "/3"} {
		check.Equal(t, "task", task(t, c, "count").Name(), "task:"+c.Name()+name)
	}
}

// A turn waits for its answer under the seq of its first message, even after that was deleted, and answers those that are left.
func TestUnansweredAfterADeletion(t *testing.T) {
	c := newTalk(t)
	_, ok, err := c.Turns().Unanswered(ctx)
	check.That(t, err == nil && !ok, "without a question a turn waits: %v, %v", ok, err)
	deliver(t, c, asking(1, "what time is it?"), said(2, "it is late"), asking(3, "and what day?"))
	remove(t, c, 1)
	turn, ok, err := c.Turns().Unanswered(ctx)
	check.NoError(t, err)
	check.That(t, ok && turn.Seq == 1 && turn.Starts == 1 && !turn.Optional && !turn.Since.IsZero(), "it is %+v", turn)
	check.EqualAll(t, "what it answers", turn.To, []string{"m3"})
	check.Equal(t, "starts", check.Must(c.Turns().Retry(ctx, turn.Seq))(t), 2)
}
