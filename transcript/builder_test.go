package transcript_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"cairn/transcript"
)

// conversation is a State and the store beside it: all messages and summaries there ever
// were, written from changes alone. Each step of a test is a method; each checks the state.
type conversation struct {
	t         testing.TB
	s         *transcript.State
	before    []*transcript.State // the states before s, oldest first
	messages  map[int64]transcript.Message
	summaries map[int64]transcript.Summary
}

func newConversation(t testing.TB) *conversation {
	return &conversation{t: t, s: transcript.New(), messages: map[int64]transcript.Message{}, summaries: map[int64]transcript.Summary{}}
}

// said is a conversation with n messages, each a turn of its own.
func said(t testing.TB, n int) *conversation {
	c := newConversation(t)
	c.say(n)
	return c
}

// apply writes a change into the store and takes the state after it.
func (c *conversation) apply(change transcript.Change) {
	c.t.Helper()
	for _, m := range slices.Concat(change.Appended, change.Edited) {
		c.messages[m.Seq] = m
	}
	known := map[int64]bool{}
	for _, row := range change.Summaries {
		known[row.ID] = true
		c.summaries[row.ID] = row
	}
	for id, row := range c.summaries { // those the state does not hold
		if known[id] {
			continue
		}
		if slices.ContainsFunc(change.Deleted, row.Covers) {
			row = row.Without(change.Deleted)
		}
		for _, m := range change.Edited {
			if row.Covers(m.Seq) && row.State != transcript.Prepared && row.State != transcript.Running {
				row = row.Edited()
			}
		}
		c.summaries[id] = row
	}
	for _, seq := range change.Deleted {
		delete(c.messages, seq)
	}
	c.before = append(c.before, c.s)
	c.s = c.s.With(change)
	if err := c.check(); err != nil {
		c.t.Fatal(err)
	}
}

// check holds the state to its invariants, and the summaries in the store to Provenance:
// expanding one gives exactly its messages.
func (c *conversation) check() error {
	if err := c.s.Check(); err != nil {
		return err
	}
	for _, row := range c.s.Summaries {
		want := c.between(row.Span)
		if got := c.expand(row); !slices.Equal(got, want) || row.Messages != len(want) {
			return fmt.Errorf("summary %d over %d to %d says %d messages and expands to %v, which should be %v", row.ID, row.From, row.To, row.Messages, got, want)
		}
	}
	for _, m := range c.messages {
		if found, ok := c.s.Messages.Find(m.Seq); ok == c.s.Covered(m.Seq) && m.Seq >= c.s.SessionStart || ok && found != m {
			return fmt.Errorf("message %d: verbatim %v, behind a summary %v; %+v, stored %+v", m.Seq, ok, c.s.Covered(m.Seq), found, m)
		}
	}
	return nil
}

func (c *conversation) between(sp transcript.Span) (seqs []int64) {
	for seq := sp.From; seq <= sp.To; seq++ {
		if _, ok := c.messages[seq]; ok {
			seqs = append(seqs, seq)
		}
	}
	return seqs
}

func (c *conversation) expand(row transcript.Summary) (seqs []int64) {
	if len(row.Children) == 0 {
		return c.between(row.Span)
	}
	for _, id := range row.Children {
		seqs = append(seqs, c.expand(c.summaries[id])...)
	}
	return seqs
}

func message(text string) transcript.Message {
	return transcript.Message{Role: transcript.User, Tokens: len(text), Time: time.Unix(0, 0), Content: &transcript.Content{Author: "Ada", Text: text}}
}

// say appends n messages that nobody answers.
func (c *conversation) say(n int) {
	c.t.Helper()
	var messages []transcript.Message
	for range n {
		messages = append(messages, message(fmt.Sprint("message ", len(c.messages))))
	}
	c.must(c.s.Append(messages...))
}

// ask appends a message addressed to the bot, and returns its turn.
func (c *conversation) ask() int64 {
	c.t.Helper()
	m := message("a question")
	m.Addressed = true
	c.must(c.s.Append(m))
	return c.s.Open
}

// answer ends the open turn with n tool results and a reply.
func (c *conversation) answer(results int) {
	c.t.Helper()
	var rows []transcript.Message
	for range results {
		rows = append(rows,
			transcript.Message{Role: transcript.Assistant, Turn: c.s.Open, Tokens: 3},
			transcript.Message{Role: transcript.Tool, Turn: c.s.Open, Tokens: 9})
	}
	c.must(c.s.Answer(append(rows, transcript.Message{Role: transcript.Assistant, Turn: c.s.Open, Tokens: 5})...))
}

// must applies a change that has to be possible.
func (c *conversation) must(change transcript.Change, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
	c.apply(change)
}

// job is what a summary is begun with, the zero value a worker's leaf.
type job struct {
	from, to int64
	by       transcript.By
	trigger  transcript.Trigger
	children []int64 // then it is a rollup
	reads    transcript.Span
}

// begin starts a job and returns the summary that it is going to make.
func (c *conversation) begin(j job) transcript.Summary {
	c.t.Helper()
	sum := transcript.Summary{
		Kind: transcript.Leaf, By: transcript.Worker, Trigger: j.trigger, Children: j.children, Reads: j.reads,
		Span: transcript.Span{From: j.from, To: j.to},
	}
	if j.by != "" {
		sum.By = j.by
	}
	if j.children != nil {
		sum.Kind, sum.Level = transcript.Rollup, 1
	}
	c.must(c.s.Begin(sum))
	return c.s.Running[len(c.s.Running)-1]
}

// prepare makes a prepared summary and returns its id.
func (c *conversation) prepare(j job) int64 {
	c.t.Helper()
	sum := c.begin(j)
	sum.Text, sum.Tokens = fmt.Sprintf("what %d to %d say", j.from, j.to), 10
	c.must(c.s.Prepare(sum))
	return sum.ID
}

// cover applies what is prepared, and returns what became stale and what waits.
func (c *conversation) cover(ids ...int64) (stale, wait []int64) {
	c.t.Helper()
	change, stale, wait := c.s.Cover(ids, 0, c.count(c.s.CoverNeeds(ids)))
	c.apply(change)
	return stale, wait
}

// count counts what lies in parts of summaries, as the store does.
func (c *conversation) count(parts []transcript.Span) (behind []transcript.Stretch) {
	for _, sp := range parts {
		stretch := transcript.Stretch{Span: sp}
		for _, seq := range c.between(sp) {
			if stretch.Messages == 0 {
				stretch.First = c.messages[seq].Time
			}
			stretch.Messages, stretch.Last = stretch.Messages+1, c.messages[seq].Time
		}
		behind = append(behind, stretch)
	}
	return behind
}

// truncate hides the verbatim messages up to seq to.
func (c *conversation) truncate(to int64) {
	c.t.Helper()
	span := transcript.Span{To: to}
	if first, ok := c.s.Messages.First(); ok {
		span.From = first.Seq
	}
	c.apply(c.s.Truncate([]transcript.Summary{{Span: span, Trigger: transcript.OnEmergency, AwaitsModel: true}}, 0))
}

// summarize prepares and applies one summary, and returns its id.
func (c *conversation) summarize(j job) int64 {
	c.t.Helper()
	id := c.prepare(j)
	if stale, wait := c.cover(id); len(stale)+len(wait) > 0 {
		c.t.Fatalf("summary %d over %d to %d: stale %v, wait %v", id, j.from, j.to, stale, wait)
	}
	return id
}

// load reads what an undo needs.
func (c *conversation) load(needs transcript.Needs) transcript.Loaded {
	l := transcript.Loaded{Needs: needs}
	for _, sp := range needs.Messages {
		for _, seq := range c.between(sp) {
			l.Read = append(l.Read, c.messages[seq])
		}
	}
	for _, id := range needs.Summaries {
		l.Rows = append(l.Rows, c.summaries[id])
	}
	return l
}

// undo undoes the latest set.
func (c *conversation) undo() error {
	c.t.Helper()
	needs, err := c.s.UndoNeeds()
	if err != nil {
		return err
	}
	c.must(c.s.Undo(c.load(needs)))
	return nil
}

// shown is what the prompt shows: applied summaries as "kind from-to", then verbatim messages.
func (c *conversation) shown() (shown []string) {
	for _, row := range c.s.Summaries {
		shown = append(shown, fmt.Sprintf("%s %d-%d", row.Kind, row.From, row.To))
	}
	for m := range c.s.Messages.All() {
		shown = append(shown, fmt.Sprint(m.Seq))
	}
	return shown
}

// wants fails the test unless the prompt shows exactly this.
func (c *conversation) wants(shown ...string) {
	c.t.Helper()
	if got := c.shown(); !slices.Equal(got, shown) {
		c.t.Errorf("the prompt shows %q, should show %q", got, shown)
	}
}

// status fails the test unless a summary has this status in the store.
func (c *conversation) status(id int64, want transcript.Status) {
	c.t.Helper()
	if got := c.summaries[id].State; got != want {
		c.t.Errorf("summary %d is %s, should be %s", id, got, want)
	}
}
