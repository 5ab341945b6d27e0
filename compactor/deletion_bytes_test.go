package compactor_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm/llmtest"
	"cairn/privacy"
	"cairn/store"
)

// secretRig is a conversation with one word in every place that stores text.
type secretRig struct {
	*rig
	t               *testing.T
	ctx             context.Context
	release         chan struct{} // closed: the worker may answer about the third message
	log             bytes.Buffer
	threads         []string
	one, two, three chat.Message // the messages that have the word
}

func TestDeletedTextLeavesNoBytes(t *testing.T) {
	check.SkipUnderRace(t)
	g := newSecretRig(t)
	g.saySecretFirst()
	g.rollUp()
	g.prepareAndWait()
	g.deleteAll()
	g.waitForRepair()
}

func newSecretRig(t *testing.T) *secretRig {
	g := &secretRig{t: t, ctx: t.Context(), release: make(chan struct{})}
	r := &rig{t: t, dir: t.TempDir(), name: "discord:s/c", window: 6000, policy: compactor.DefaultPolicy()}
	r.policy.PrepareThreshold, r.policy.KeepFirst, r.policy.RollupFanIn, r.policy.StackBudget = 0, 3, 2, 0.03
	r.worker = &llmtest.Model{Func: repeating("the third one", g.release)}
	r.tune = func(o *compactor.Options) {
		o.Log = slog.New(slog.NewTextHandler(&g.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	g.rig = r
	r.open()
	t.Cleanup(r.close)
	return g
}

// saySecretFirst edits and pins the first message, quotes it in replies, recalls it, and starts a
// thread on it.
func (g *secretRig) saySecretFirst() {
	first := secretly("The first one.")
	first.Addressed = true
	g.one = g.arrive(first)
	g.answer(g.one)
	g.deliverNotes("and another machine " + filler(30))
	g.edit(g.one.Seq, "I had a "+oddWord+", edited")
	check.NoError(g.t, check.ErrorOf(g.conv.Transcript().Pin(g.ctx, g.one.Seq, "Ada")))
	g.c.Reread()
	g.threads = []string{"discord:s/c/" + g.one.ID, "discord:s/c/later"}
	g.thread(g.threads[0])
	g.recalls("what did I have?", g.one.Seq)
}

// thread opens a thread with two replies that quote the first message; the second one waits in the
// inbox.
func (g *secretRig) thread(name string) {
	g.t.Helper()
	c, err := g.store.Conversation(g.ctx, name)
	check.NoError(g.t, err)
	for i := range 2 { // one is taken up, the other waits
		m := store.Inbound{ID: fmt.Sprint("t", i), AuthorID: "u2", Author: "Bo", Text: "why?", ReplyTo: g.one.ID, Quote: "Ada: I had a " + oddWord, Time: time.Now()}
		check.NoError(g.t, check.ErrorOf(c.Inbox().Deliver(g.ctx, m)))
		if i > 0 {
			continue
		}
		check.NoError(g.t, check.ErrorOf(c.Inbox().Dequeue(g.ctx, store.All, 10_000, time.Time{})))
	}
}

// summarizeOver counts the rows in these states over a message with the word.
func (g *secretRig) summarizeOver(seq int64, states string) int {
	return count(g.t, g.dir, fmt.Sprintf("SELECT count(*) FROM compactions WHERE state IN (%s) AND from_seq <= %d AND to_seq >= %d AND text LIKE '%%%s%%'", states, seq, seq, oddWord))
}

// rollUp talks until the summary of the first message is part of a rollup, which a new thread
// inherits.
func (g *secretRig) rollUp() {
	for i := 0; g.summarizeOver(g.one.Seq, "'rolled_up'") == 0 || g.summarizeOver(g.one.Seq, "'applied'") == 0; i++ {
		check.Require(g.t, i <= 400, "got no rollup")
		g.deliverNotes(fmt.Sprintf("note %d %s", i, filler(60)))
		g.waitIdle()
	}
	g.thread(g.threads[1])
}

// prepareAndWait adds a message with a prepared summary, one that a worker is reading, and one in
// the inbox.
func (g *secretRig) prepareAndWait() {
	g.set(func(p *compactor.Policy) { p.PrepareThreshold, p.TailTokens, p.SpanTokens = 0.15, 500, 500 })
	g.two = g.arrive(secretly("The second one."))
	for i := 0; g.summarizeOver(g.two.Seq, "'prepared'") == 0; i++ {
		check.Require(g.t, i <= 100, "got no prepared summary")
		g.deliverNotes(fmt.Sprintf("more %d %s", i, filler(20)))
		g.waitIdle()
	}
	g.three = g.arrive(secretly("This is the third one."))
	for i := 0; ; i++ {
		if running := g.c.Status().Running; running != nil && running.From <= g.three.Seq && running.To >= g.three.Seq {
			break
		}
		check.Require(g.t, i <= 100, "got no running worker")
		g.deliverNotes(fmt.Sprintf("yet more %d %s", i, filler(20)))
		time.Sleep(10 * time.Millisecond)
	}
	waiting := secretly("It waits.")
	waiting.ID, waiting.AuthorID, waiting.Author, waiting.Time = "w1", "u1", "Ada", time.Now()
	check.NoError(g.t, check.ErrorOf(g.conv.Inbox().Deliver(g.ctx, waiting)))
	if n := count(g.t, g.dir, "SELECT count(*) FROM memories WHERE content LIKE '%"+oddWord+"%'"); n == 0 {
		g.t.Fatal("got no memory with the word")
	}
	if n := count(g.t, g.dir, "SELECT count(*) FROM inherited WHERE text LIKE '%"+oddWord+"%'"); n < 2 {
		g.t.Fatalf("got %d inherited copies", n)
	}
	check.Require(g.t, len(traces(g.t, g.dir)) != 0, "got no copy in the files")
}

func (g *secretRig) deleteAll() {
	seqs, err := privacy.Of(g.conv).Delete(g.ctx, []string{g.one.ID, g.two.ID, g.three.ID, "w1", "elsewhere"})
	check.NoError(g.t, err)
	g.gone = map[int64]bool{g.one.Seq: true, g.two.Seq: true, g.three.Seq: true}
	for i, m := range g.said { // as the disk has them now
		if now, err := g.conv.Transcript().Message(g.ctx, m.Seq); err == nil {
			g.said[i] = now
		}
	}
	g.apply(seqs...)
	check.Lacks(g.t, "view", g.render(), oddWord)
	check.NoError(g.t, g.store.Upkeep().EraseFiles(g.ctx, store.Backups{}))
	if left := traces(g.t, g.dir); left != nil {
		g.t.Errorf("copies left while the bot runs:\n%s", strings.Join(left, "\n"))
	}
}

// waitForRepair checks that the summaries are repaired, and that files and log do not contain the
// word, also after a restart.
func (g *secretRig) waitForRepair() {
	close(g.release)
	g.waitIdle()
	g.verify()
	g.set(func(p *compactor.Policy) { p.PrepareThreshold = 0 }) // repairs are applied at once
	for i := range 40 {
		g.deliverNotes(fmt.Sprintf("later %d %s", i, filler(20)))
		g.waitIdle()
	}
	for _, row := range g.c.Status().Stack {
		check.That(g.t, row.By == compactor.ByWorker && !strings.Contains(row.Text, oddWord),
			"after the repair: the row over #%d to #%d by %s: got %q", row.From, row.To, row.By, row.Text)
	}
	kept := count(g.t, g.dir, "SELECT count(*) FROM memories WHERE content LIKE 'Ada has a machine%'")
	g.restart()
	check.Lacks(g.t, "after a restart the view", g.render(), oddWord)
	g.close()
	g.c = nil
	if left := traces(g.t, g.dir); left != nil {
		g.t.Errorf("copies left at the end:\n%s", strings.Join(left, "\n"))
	}
	check.That(g.t, kept != 0, "memories supported by another message are gone")
	check.Lacks(g.t, "log", g.log.String(), oddWord)
}
