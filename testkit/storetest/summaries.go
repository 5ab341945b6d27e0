// Summaries: jobs, and what is applied; memories, and search results.

package storetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/transcript"
)

func Load(t testing.TB, c *store.Conversation) transcript.Snapshot {
	t.Helper()
	return check.Must(c.Compactions().Load(Ctx))(t)
}

// Peek reads the state as Load does, and leaves running rows alone.
func Peek(t check.Tester, c *store.Conversation) (state transcript.Snapshot) {
	t.Helper()
	check.NoError(t, c.Store().View(Ctx, func(tx *store.Tx) { state = c.Summaries(tx).Load() }))
	return state
}

// Begin starts a row of the summary's kind, maker, span and children. Without a trigger a background level demanded it.
func Begin(t testing.TB, c *store.Conversation, row transcript.Summary) summarize.Job {
	t.Helper()
	row.Trigger = cmp.Or(row.Trigger, transcript.OnBackground)
	row.FromTime = Day
	row.ToTime = Day
	row.Messages = int(row.To - row.From + 1)
	return check.Must(memory.Of(c).Records().Begin(Ctx, row))(t)
}

// Worker starts a worker's job over [from, to].
func Worker(t testing.TB, c *store.Conversation, from, to int64) summarize.Job {
	t.Helper()
	return Begin(t, c, transcript.Summary{Kind: transcript.Leaf, By: transcript.Worker, Span: transcript.Span{From: from, To: to}})
}

// Commit writes a decision on the state on disk.
func Commit(t check.Tester, c *store.Conversation, decide func(*transcript.State) (transcript.Change, error)) transcript.Head {
	t.Helper()
	return check.Must(TryCommit(t, c, decide))(t)
}

// TryCommit writes a decision on the state on disk, if it is one. The state that transcript then computes in memory must be
// the one that is read back.
func TryCommit(t check.Tester, c *store.Conversation, decide func(*transcript.State) (transcript.Change, error)) (head transcript.Head, err error) {
	t.Helper()
	s := StateOf(t, c)
	change, err := decide(s)
	if err == nil {
		head, err = c.Compactions().Commit(Ctx, s, change)
	}
	if err == nil && len(s.Sessions) < 100 { // of more, those that are finished are not read
		check.Equal(t, "the state read back", describe(StateOf(t, c)), describe(s.With(change)))
	}
	return head, err
}

// describe formats what a State and the rows have in common: the rows have their own IDs for new summaries.
func describe(s *transcript.State) string {
	var b strings.Builder
	fmt.Fprintln(&b, s.Sessions, s.HeadVersion, s.NextSeq, s.SessionStart, s.InSession, s.ClearedTo, s.Spared)
	for _, row := range s.Summaries {
		fmt.Fprintln(&b, row.Kind, row.By, row.Trigger, row.Span, row.FromTime.Unix(), row.ToTime.Unix(), row.Messages, len(row.Children), row.Text, row.Lines, row.Tokens, row.AwaitsModel)
	}
	fmt.Fprintln(&b, transcript.IDs(s.Prepared), transcript.IDs(s.Running))
	for _, m := range s.Messages.In(transcript.Span{From: s.SessionStart, To: s.NextSeq}) {
		fmt.Fprint(&b, m.Seq, " ")
	}
	return b.String()
}

// StateOf returns the state for decisions, including the running rows, which a start of the bot ends.
func StateOf(t check.Tester, c *store.Conversation) *transcript.State {
	t.Helper()
	loaded := Peek(t, c)
	all, _, err := c.Compactions().Recorded(Ctx)
	check.NoError(t, err)
	for _, row := range all {
		if row.State == transcript.Running {
			loaded.Prepared = append(loaded.Prepared, row.Summary)
		}
	}
	return loaded.State()
}

// ApplyRows applies prepared rows, and returns the resulting head and rows.
func ApplyRows(t check.Tester, c *store.Conversation, rows ...int64) (transcript.Head, []transcript.Summary) {
	t.Helper()
	return ApplyAndClear(t, c, 0, rows...)
}

func ApplyAndClear(t check.Tester, c *store.Conversation, clearTo int64, rows ...int64) (transcript.Head, []transcript.Summary) {
	t.Helper()
	head := Commit(t, c, func(s *transcript.State) (transcript.Change, error) {
		change, _, _ := s.Cover(rows, clearTo, func(sp transcript.Span) transcript.Stretch {
			return check.Must(c.Compactions().Stretch(Ctx, sp))(t)
		})
		return change, nil
	})
	now, err := c.Compactions().Rows(Ctx, rows)
	check.NoError(t, err)
	return head, now
}

// Hide puts a placeholder over [from, to], as an emergency does.
func Hide(t check.Tester, c *store.Conversation, from, to int64) transcript.Head {
	t.Helper()
	return Commit(t, c, func(s *transcript.State) (transcript.Change, error) {
		row := transcript.Summary{Trigger: transcript.OnEmergency, Span: transcript.Span{From: from, To: to}}
		return s.Truncate([]transcript.Summary{row}, 0), nil
	})
}

// Shape formats a stack as "leaf worker 1-5, placeholder emergency 6-9".
func Shape(stack []transcript.Summary) string {
	return strings.Join(Map(stack, func(row transcript.Summary) string {
		return fmt.Sprintf("%s %s %d-%d", row.Kind, row.By, row.From, row.To)
	}), ", ")
}

// Steps returns the steps in which compactions of a conversation were applied, oldest first.
func Steps(c *store.Conversation) ([]store.AppliedStep, error) {
	applied, _, err := c.Store().Compactions(Ctx, store.CompactionFilter{Conversation: c.Name(), Applied: true})
	return store.StepsOf(applied), err
}

// Fact is what one message says.
type Fact struct {
	Text string
	Seq  int64 // of the message
}

// Repair lets a worker or the extractive summarizer summarize a span and save one fact as a memory.
func Repair(t *testing.T, c *store.Conversation, by transcript.By, span transcript.Span, fact Fact) {
	t.Helper()
	j := Begin(t, c, transcript.Summary{Kind: transcript.Leaf, By: by, Span: span})
	summary := summarize.Summary{Text: "summary", Tokens: 2}
	if by == transcript.Extractive {
		summary.Memories = []summarize.MemoryDraft{{Kind: "fact", Content: fact.Text, Messages: []int64{fact.Seq}}}
	} else {
		check.Must(Call(j.Tools(20), "memory_save", fmt.Sprintf(`{"content": %q, "kind": "fact", "messages": [%d]}`, fact.Text, fact.Seq)))(t)
	}
	check.Must(j.Store(Ctx, summary))(t)
	ApplyRows(t, c, j.ID())
}

// ToolsAt returns the tools of a turn.
func ToolsAt(c *store.Conversation, turn int64) []llm.Tool {
	return memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return turn }})
}

// Call runs the tool with a name.
func Call(tools []llm.Tool, name, arguments string) (llm.Result, error) {
	for _, tool := range tools {
		if tool.Name == name {
			return tool.Run(Ctx, json.RawMessage(arguments))
		}
	}
	return llm.Result{}, fmt.Errorf("no tool %s", name)
}

// Recalled returns the messages that match a word of the query.
func Recalled(t *testing.T, c *store.Conversation, query string) []int64 {
	t.Helper()
	found := check.Must(memory.Of(c).Recall(Ctx, memory.Question{Text: query, Limit: 10, Before: store.MaxSeq}))(t)
	var list []int64
	for _, f := range found {
		if f.Parts[0].Name == "words" {
			list = append(list, f.Seq)
		}
	}
	return list
}

// Contents lists the active memories, the newest row last, as "kind: content".
func Contents(t *testing.T, c *store.Conversation) []string {
	t.Helper()
	found, _, err := memory.In(c.Store()).List(Ctx, memory.Filter{Conversation: c.Name()})
	check.NoError(t, err)
	slices.SortFunc(found, func(a, b memory.Memory) int { return int(a.ID - b.ID) })
	return Map(found, func(m memory.Memory) string { return m.Kind + ": " + m.Content })
}

// Memory returns a memory in any state.
func Memory(t *testing.T, s *store.Store, id int64) memory.Memory {
	t.Helper()
	return check.Must(memory.In(s).Details(Ctx, id))(t).Memory
}

// Part returns how much a part adds to the score of a found message.
func Part(f memory.Found, name string) float64 {
	for _, p := range f.Parts {
		if p.Name == name {
			return p.Value
		}
	}
	return 0
}

// Keep saves a fact, from messages if any are named.
func Keep(t testing.TB, c *store.Conversation, person, content string, messages ...int64) memory.Saved {
	t.Helper()
	return check.Must(memory.Of(c).Keep(Ctx, memory.KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: content, Messages: messages}, Person: person, PersonID: People[person]}))(t)
}

// People are the IDs of the authors in Said.
var People = map[string]string{"Ann": "0", "Bob": "1"}
