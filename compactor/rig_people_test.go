// What people do in a test's conversation: talk, edit, delete, start a new session.

package compactor_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func (r *rig) deliverNotes(text string) {
	r.t.Helper()
	r.deliver(text, false)
	if !r.quiet {
		r.c.Speak()
	}
	r.c.Check(context.Background())
}

func (r *rig) deliverMany(n, words int, then ...func()) {
	r.t.Helper()
	for i := range n {
		r.deliverNotes(fmt.Sprintf("note %d %s", i, filler(words)))
		for _, do := range then {
			do()
		}
	}
}

// notesUntil delivers notes of this many words until a condition is true.
func (r *rig) notesUntil(words int, done func() bool) {
	r.t.Helper()
	for i := 0; !done(); i++ {
		check.Require(r.t, i <= 500, "the condition does not hold after %d notes", i)
		r.deliverNotes(fmt.Sprintf("note %d %s", len(r.messages), filler(words)))
	}
}

func (r *rig) talkUntil(done func() bool) {
	r.t.Helper()
	for !done() {
		r.talk(fmt.Sprintf("question %d %s", len(r.messages), filler(120)))
		r.waitIdle()
	}
}

// compactAndWait requests a compaction, which may have nothing to do.
func (r *rig) compactAndWait() compactor.Event {
	r.t.Helper()
	e := r.c.Compact(compactor.OnManual, "")
	r.waitIdle()
	return e
}

func (r *rig) deliver(text string, addressed bool) chat.Message {
	r.t.Helper()
	return r.arrive(store.Inbound{Text: text, Addressed: addressed})
}

// arrive delivers messages like a connector, dequeues them, and returns the last. It sets missing ids,
// Ada as missing authors, and times a minute after the message before.
func (r *rig) arrive(all ...store.Inbound) chat.Message {
	r.t.Helper()
	ctx := context.Background()
	first := len(r.messages) == 0
	for i, in := range all {
		n := len(r.messages) + 1 + i
		in.ID = cmp.Or(in.ID, fmt.Sprint("m", n))
		in.AuthorID = cmp.Or(in.AuthorID, "u1")
		in.Author = cmp.Or(in.Author, "Ada")
		if in.Time.IsZero() {
			in.Time = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)
		}
		check.NoError(r.t, check.ErrorOf(r.conv.Inbox().Deliver(ctx, in)))
	}
	for left := len(all); left > 0; {
		n := r.dequeue()
		check.Require(r.t, n > 0 && n <= left, "got %d dequeued messages of %d", n, left)
		left -= n
	}
	if first {
		r.c.Reread() // like a thread's owner after inheriting
	}
	return r.messages[len(r.messages)-1]
}

func (r *rig) arriveMany(n int, text func(i int) string) {
	r.t.Helper()
	notes := make([]store.Inbound, n)
	for i := range notes {
		notes[i].Text = text(i)
	}
	r.arrive(notes...)
}

// dequeue gives the engine what waits in the inbox, at most as much as fits into a turn, and returns the number of messages.
func (r *rig) dequeue() int {
	r.t.Helper()
	taken := check.Must(r.conv.Inbox().Dequeue(context.Background(), store.All, compactor.BurstBudget(r.window), time.Time{}))(r.t)
	r.c.History().Append(taken...)
	r.c.History().Stored()
	r.messages = append(r.messages, taken...)
	return len(taken)
}

func (r *rig) startSession() {
	r.t.Helper()
	said := slices.ContainsFunc(r.remainingMessages(), func(m chat.Message) bool { return m.Seq >= r.start() })
	started := check.Must(r.c.StartSession(context.Background()))(r.t)
	check.Require(r.t, started == said, "a new session: started %v; there is something to leave: %v", started, said)
	if started {
		r.ends = append(r.ends, int64(len(r.messages)))
	}
}

func (r *rig) start() int64 {
	if len(r.ends) == 0 {
		return 1
	}
	return r.ends[len(r.ends)-1] + 1
}

func (r *rig) session(seq int64) int {
	n, _ := slices.BinarySearch(r.ends, seq)
	return n
}

// talk runs a turn: a question, possibly tool results, and an answer.
func (r *rig) talk(question string, results ...string) {
	r.t.Helper()
	r.answer(r.deliver(question, true), results...)
}

// answerAlone ends the turn of a question without a request, and waits for nothing.
func (r *rig) answerAlone(asked chat.Message) {
	r.t.Helper()
	(&turn{r: r, asked: asked}).finish(fmt.Sprint("answer to ", asked.Seq))
}

// answer runs the turn of a dequeued question.
func (r *rig) answer(asked chat.Message, results ...string) {
	r.t.Helper()
	x := r.begin(asked)
	r.request()
	for i, result := range results {
		x.look(fmt.Sprint("call_", i), result)
		r.request()
	}
	x.finish(fmt.Sprintf("answer to %d", asked.Seq))
}

// turn is a running turn, and the messages it will store.
type turn struct {
	r     *rig
	asked chat.Message
	rows  []chat.Message
}

func (r *rig) begin(asked chat.Message, with ...compactor.Context) *turn {
	r.c.History().Begin(append(with, compactor.Context{Text: "time: now"})[0], compactor.AnyVersion)
	return &turn{r: r, asked: asked}
}

func (x *turn) add(m chat.Message) {
	m.Seq = x.r.c.History().Next()
	m.Turn = x.asked.Seq
	m.Time = x.asked.Time
	m.Tokens = chat.TokensOf(m)
	x.rows = append(x.rows, m)
	x.r.c.History().Append(m)
}

// steer adds what people have said to the turn and the turn does not have yet.
func (x *turn) steer() {
	x.r.t.Helper()
	for _, m := range check.Must(x.r.conv.Inbox().Steering(context.Background()))(x.r.t) {
		if !slices.ContainsFunc(x.rows, func(row chat.Message) bool { return row.ID == m.ID }) {
			x.add(m)
		}
	}
}

// look calls a tool, possibly after some reasoning.
func (x *turn) look(id, result string, reasoning ...string) {
	m := chat.Message{Role: llm.RoleAssistant, Calls: []llm.Call{{ID: id, Name: "look", Arguments: "{}"}}}
	for _, text := range reasoning {
		m.Native = json.RawMessage(fmt.Sprintf(`{"reasoning":%q}`, text))
	}
	x.add(m)
	x.add(chat.Message{Role: llm.RoleTool, CallID: id, Tool: "look", Text: result})
}

func (x *turn) finish(text string) {
	x.r.t.Helper()
	x.answer(text)
	x.r.c.Check(context.Background())
}

func (x *turn) answer(text string) {
	x.r.t.Helper()
	h := x.r.c.History()
	x.add(chat.Message{Role: llm.RoleAssistant, Text: text})
	outcome := store.Outcome{Turn: x.asked.Seq, Messages: x.rows, Reply: fmt.Sprint("r", x.asked.Seq), Pieces: []string{text}, Count: x.r.c.Count()}
	outcome.Context, outcome.Version = h.Context()
	if stored := check.Must(x.r.conv.Turns().Finish(context.Background(), outcome))(x.r.t); !stored {
		h.ContextNotStored()
	}
	x.r.messages = append(x.r.messages, x.rows...)
	x.r.c.Answered()
}

func (x *turn) endWithoutAnswer() {
	x.r.t.Helper()
	check.Must(x.r.conv.Turns().Finish(context.Background(), store.Outcome{Turn: x.asked.Seq, Messages: x.rows}))(x.r.t)
	x.r.messages = append(x.r.messages, x.rows...)
	x.r.c.Answered()
}

func (r *rig) edit(seq int64, text string) {
	r.t.Helper()
	check.NoError(r.t, r.editWithoutNotice(seq, text))
	r.c.Reread()
}

// editWithoutNotice edits without notifying the engine. Its error may be the disk's.
func (r *rig) editWithoutNotice(seq int64, text string) error {
	m := &r.messages[seq-1]
	r.edits++
	got, changed, err := r.conv.Transcript().Edit(context.Background(), store.Inbound{ID: m.ID, Text: text, Time: m.Time.Add(time.Duration(r.edits) * time.Hour)}, nil)
	if err != nil {
		return err
	}
	check.Require(r.t, changed && got == seq, "edit of %d: got %d, changed %v", seq, got, changed)
	m.Text = text
	return nil
}

func (r *rig) remove(seqs ...int64) {
	r.t.Helper()
	check.EqualAll(r.t, "deleted", check.Must(r.removeWithoutNotice(seqs...))(r.t), seqs)
	r.c.Reread()
}

// removeWithoutNotice deletes without notifying the engine. It returns what the deletion changed;
// its error may be the disk's.
func (r *rig) removeWithoutNotice(seqs ...int64) (changed []int64, err error) {
	var ids []string
	for _, seq := range seqs {
		ids = append(ids, r.messages[seq-1].ID)
	}
	changed = storetest.Changed(r.t, r.conv, func() { err = privacy.Of(r.conv).Delete(context.Background(), ids) })
	if err != nil {
		return nil, err
	}
	if r.deleted == nil {
		r.deleted = make(map[int64]bool)
	}
	for _, seq := range seqs {
		r.deleted[seq] = true
	}
	return changed, nil
}

func tokensIn(messages []chat.Message) (n int) {
	for _, m := range messages {
		n += m.Tokens
	}
	return n
}

func (r *rig) remainingMessages() []chat.Message {
	return slices.DeleteFunc(slices.Clone(r.messages), func(m chat.Message) bool { return r.deleted[m.Seq] })
}
