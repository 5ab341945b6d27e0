package compactor_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// quoted returns the beginning of a message, which shows that a summary covers it.
var quoted = regexp.MustCompile(`(?:note|question|edited) \d+ `)

// renderAfterRestart fails unless a restart renders the same view at the same cost.
func (r *rig) renderAfterRestart() {
	r.t.Helper()
	r.waitIdle() // a summary may be about to be redone
	view := r.render()
	used := r.c.Status().Used
	r.restart()
	after := r.render()
	check.Require(r.t, after == view, "a restart changed the view:\n%s\n--- became\n%s", view, after)
	check.Equal(r.t, "tokens used", r.c.Status().Used, used)
}

func TestCopiesOfFirstMessagesFollowEdits(t *testing.T) {
	r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
	r.policy.KeepFirst = 2
	for i := range 25 { // more than the engine keeps in memory
		r.talk(fmt.Sprintf("question %d!", i))
	}
	r.deliverMany(80, 80, r.waitIdle)
	copies := func(want ...string) {
		t.Helper()
		head, _, _ := strings.Cut(r.render(), "[Compaction Summary]")
		check.EqualAll(t, "copies", regexp.MustCompile(`question \d+!`).FindAllString(head, -1), want)
	}
	copies("question 0!", "question 1!")
	r.edit(1, "another question")
	copies("question 1!")
	r.remove(1)
	copies("question 1!", "question 2!")
	var many []int64
	for seq := int64(3); seq < 45; seq += 2 {
		many = append(many, seq)
	}
	r.remove(many...)
	copies("question 22!", "question 23!")
	r.renderAfterRestart()
}

func quotes(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
	return summary("They said: " + strings.Join(quoted.FindAllString(materialIn(req), 30), ", ")), nil
}

func TestSummaryOverDeletedMessageIsRepaired(t *testing.T) {
	r := newRig(t, 8000, &llmtest.Model{Func: quotes})
	r.deliverMany(80, 110, r.waitIdle)
	check.Contains(t, "view", r.render(), "They said: note 0 , note 1 , note 2 , note 3 ")
	calls := len(r.worker.Requests())
	r.remove(4)
	check.Lacks(t, "view", r.render(), "note 3 ")
	r.renderAfterRestart()
	for range 5 {
		r.waitIdle()
	}
	check.Len(t, "rows that are not repaired", r.rows(func(row compactor.Summary) bool {
		return row.By != compactor.ByWorker || strings.Contains(row.Text, "note 3 ")
	}), 0)
	check.Equal(t, "worker calls for the repair", len(r.worker.Requests())-calls, 1)
}

func TestRequestsNeverRepeatDeletedText(t *testing.T) {
	r := newRig(t, 8000, nil)
	disk := r.faultyDisk()
	r.talk("My very first words.")
	r.deliverMany(80, 100, r.waitIdle)
	disk.blind = true
	r.remove(1)
	check.That(t, check.ErrorOf(r.c.Request(t.Context())) != nil, "a request was rendered with a head that may be stale")
	disk.blind = false
	check.Lacks(t, "view", r.render(), "very first words")
}

// The running turn's context stays when something else changes, and goes with a message that it quotes.
func TestRunningContextFollowsChanges(t *testing.T) {
	r := newRig(t, 8000, nil)
	r.deliverMany(5, 10)
	r.begin(r.deliver("and?", true), compactor.Context{Text: "recalled", Quotes: llm.Quotes{Messages: []int64{2}}})
	r.edit(3, "another note")
	r.pin(1)
	check.Contains(t, "request", r.render(), "another note", "recalled")
	r.edit(2, "something else")
	check.Lacks(t, "request", r.render(), "recalled")
}

// The word of the deleted messages, which is nowhere else.
const (
	oddWord   = "Zörblaxing"
	inChinese = "鑫龘靐麤"
)

// traces returns which files of a folder contain the word: as it is, in lower case, without accents, as a stem, as pairs of
// characters, escaped in JSON, or in base64. Another process reads them: closing one here would release SQLite's locks.
func traces(t testing.TB, dir string) (found []string) {
	t.Helper()
	forms := []string{"zörblax", "zorblax", `z\u00f6rblax`, "z\\xc3\\xb6rblax", "鑫龘", "龘靐", "靐麤", `\u946b\u9f98`}
	for shift, from := range []int{0, 2, 3} { // base64 depends on the position within a group of three bytes
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(" ", shift) + oddWord))
		forms = append(forms, strings.ToLower(text[from:from+12]))
	}
	for _, file := range check.Must(filepath.Glob(filepath.Join(dir, "*")))(t) {
		text := bytes.ToLower(check.Must(exec.Command("cat", file).Output())(t))
		for _, form := range forms {
			if bytes.Contains(text, []byte(form)) {
				found = append(found, fmt.Sprintf("%s: %q", filepath.Base(file), form))
			}
		}
	}
	return found
}

// secretRig is a conversation with one word in every place that stores text.
type secretRig struct {
	*rig
	ctx             context.Context
	release         chan struct{} // closed: the worker may answer about the third message
	log             journal
	one, two, three chat.Message // the messages that have the word
}

func TestDeletedTextLeavesNoBytes(t *testing.T) {
	slow(t)
	synctest.Test(t, func(t *testing.T) {
		g := &secretRig{ctx: t.Context(), release: make(chan struct{})}
		g.rig = &rig{t: t, folder: folder{dir: t.TempDir()}, name: channelAbove, window: 6000, policy: plainPolicy()}
		g.worker = &llmtest.Model{Func: repeating("the third one", g.release)}
		g.tune = append(g.tune, func(o *compactor.Options) { o.Log = g.log.logger() })
		g.open()
		t.Cleanup(g.end)
		g.policy.KeepFirst = 3
		g.policy.RollupFanIn = 2
		g.policy.StackBudget = 0.03
		g.saySecretFirst()
		g.summarize()
		g.deleteAll()
		check.Equal(t, "failures", g.seen(compactor.EventFailed), 0)
	})
}

func (g *secretRig) saySecretFirst() {
	first := secretly("The first one.")
	first.Addressed = true
	g.one = g.arrive(first)
	g.answer(g.one)
	g.deliverNotes("and another machine " + filler(30))
	g.edit(g.one.Seq, "I had a "+oddWord+", edited")
	check.NoError(g.t, check.ErrorOf(g.conv.Transcript().Pin(g.ctx, g.one.Seq, store.Person{Name: "Ada"})))
	g.c.Reread()
	g.thread(g.one.ID)
	x := g.begin(g.deliver("what did I have?", true))
	x.add(chat.Message{Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "c", Name: "recall", Arguments: `{"query":"machine"}`}}})
	x.add(chat.Message{Role: llm.RoleTool, CallID: "c", Tool: "recall", Text: "my " + oddWord, Quotes: llm.Quotes{Messages: []int64{g.one.Seq}}})
	x.finish("I know.")
}

// thread opens a thread with two replies that quote the first message; the second one waits in the inbox.
func (g *secretRig) thread(name string) {
	g.t.Helper()
	c := check.Must(g.store.Conversation(g.ctx, channelAbove+"/"+name))(g.t)
	for i := range 2 {
		m := store.Inbound{ID: fmt.Sprint("t", i), AuthorID: "u2", Author: "Bo", Text: "why?", ReplyTo: g.one.ID, Quote: "Ada: I had a " + oddWord, Time: time.Now()}
		check.NoError(g.t, check.ErrorOf(c.Inbox().Deliver(g.ctx, m)))
		if i == 0 {
			check.NoError(g.t, check.ErrorOf(c.Inbox().Dequeue(g.ctx, store.All, 10_000, time.Time{})))
		}
	}
}

func (g *secretRig) summarizeOver(seq int64, states string) int {
	return g.count(fmt.Sprintf("SELECT count(*) FROM compactions WHERE state IN (%s) AND from_seq <= %d AND to_seq >= %d AND text LIKE '%%%s%%'", states, seq, seq, oddWord))
}

// summarize talks until the summary of the first message is part of a rollup, which a new thread inherits. Then it adds a
// message with a prepared summary, one that a worker is reading, and one in the inbox.
func (g *secretRig) summarize() {
	g.notesUntil(60, func() bool {
		g.waitIdle()
		return g.summarizeOver(g.one.Seq, "'rolled_up'") > 0 && g.summarizeOver(g.one.Seq, "'applied'") > 0
	})
	g.thread("later")
	g.set(func(p *compactor.Policy) {
		p.PrepareThreshold = 0.15
		p.TailTokens = 500
		p.SpanTokens = 500
		p.BackgroundFraction = 0.50 // of which a span may take a quarter
	})
	g.two = g.arrive(secretly("The second one."))
	g.notesUntil(20, func() bool { g.waitIdle(); return g.summarizeOver(g.two.Seq, "'prepared'") > 0 })
	g.three = g.arrive(secretly("This is the third one."))
	g.notesUntil(20, func() bool {
		synctest.Wait() // the worker has reached the third message, or has nothing to do
		running := g.c.Status().Running
		return running != nil && running.From <= g.three.Seq && g.three.Seq <= running.To
	})
	waiting := secretly("It waits.")
	waiting.ID = "w1"
	waiting.AuthorID = "u1"
	waiting.Author = "Ada"
	waiting.Time = time.Now()
	check.NoError(g.t, check.ErrorOf(g.conv.Inbox().Deliver(g.ctx, waiting)))
	memories := g.count("SELECT count(*) FROM memories WHERE content LIKE '%" + oddWord + "%'")
	inherited := g.count("SELECT count(*) FROM inherited WHERE text LIKE '%" + oddWord + "%'")
	check.Require(g.t, memories > 0 && inherited > 1, "got %d memories with the word, and %d inherited copies", memories, inherited)
	check.Require(g.t, len(traces(g.t, g.dir)) != 0, "got no copy in the files")
}

// deleteAll deletes the messages. The summaries are repaired, and files and log do not contain the
// word, also after a restart.
func (g *secretRig) deleteAll() {
	check.NoError(g.t, privacy.Of(g.conv).Delete(g.ctx, []string{g.one.ID, g.two.ID, g.three.ID, "w1", "elsewhere"}))
	g.deleted = map[int64]bool{g.one.Seq: true, g.two.Seq: true, g.three.Seq: true}
	for i, m := range g.messages { // as the disk has them now
		if now, err := g.conv.Transcript().Message(g.ctx, m.Seq); err == nil {
			g.messages[i] = now
		}
	}
	g.c.Reread()
	check.Lacks(g.t, "view", g.render(), oddWord)
	check.NoError(g.t, g.store.Upkeep().EraseFiles(g.ctx, store.Backups{}))
	check.EqualAll(g.t, "copies left while the bot runs", traces(g.t, g.dir), nil)
	close(g.release)
	g.waitIdle()
	g.verify()
	g.set(func(p *compactor.Policy) { p.PrepareThreshold = 0 }) // repairs are applied at once
	g.deliverMany(40, 20, g.waitIdle)
	check.Len(g.t, "rows that are not repaired", g.rows(func(row compactor.Summary) bool {
		return row.By != compactor.ByWorker || strings.Contains(row.Text, oddWord)
	}), 0)
	kept := g.count("SELECT count(*) FROM memories WHERE content LIKE 'Ada has a machine%'")
	g.restart()
	check.Lacks(g.t, "after a restart the view", g.render(), oddWord)
	g.close()
	check.EqualAll(g.t, "copies left at the end", traces(g.t, g.dir), nil)
	check.That(g.t, kept != 0, "memories supported by another message are gone")
	check.Lacks(g.t, "log", g.log.String(), oddWord)
}

var marked = regexp.MustCompile(`<message id="(\d+)"[^>]*>[^<]*` + oddWord)

// repeating is a worker that repeats the deleted text in summaries and memories. It waits for
// release with the first span that contains hold.
func repeating(hold string, release <-chan struct{}) func(context.Context, int, llm.Request) (llm.Response, error) {
	return func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		material := req.Messages[1].Text
		if strings.Contains(materialIn(req), hold) {
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		if !strings.Contains(material, oddWord) {
			return goodSummary(ctx, n, req)
		}
		text := fmt.Sprintf("In %s Ada wrote one note more, word by word, and spoke of her %s", spanOf(req), oddWord)
		if strings.Contains(materialIn(req), inChinese) { // so that it is accepted as a summary of this span
			text += ", " + inChinese
		}
		at := marked.FindStringSubmatch(material)
		if at == nil || !savesMemories(req) || len(req.Messages) > 2 {
			return summary(text + "."), nil
		}
		seq, _ := strconv.Atoi(at[1])
		return llmtest.Use(
			llmtest.Call("a", "memory_save", map[string]any{"content": "Ada has a " + oddWord + " " + inChinese, "kind": "fact", "messages": []int{seq}}),
			llmtest.Call("b", "memory_save", map[string]any{"content": fmt.Sprintf("Ada has a machine, number %d", seq), "kind": "fact", "messages": []int{seq, seq + 1}}),
		), nil
	}
}

func secretly(text string) store.Inbound {
	return store.Inbound{
		Text:    fmt.Sprintf("I have a %s, a <%s> & \"%s\" %s. %s %s", oddWord, strings.ToUpper(oddWord), oddWord+"s", inChinese, text, filler(30)),
		ReplyTo: "elsewhere", Quote: "Bo: your " + oddWord + "?",
		Attachments: []chat.Attachment{
			{Kind: "file", Name: oddWord + ".txt", Type: "text/plain", Text: "all about the " + oddWord, URL: "https://x.test/" + oddWord},
			{Kind: "image", Name: "a.png", Caption: "a " + oddWord, Type: "image/png", Data: []byte(strings.Repeat(oddWord+" ", 1000))},
		},
	}
}
