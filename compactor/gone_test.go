package compactor_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
)

// What stands in what is to be deleted, and nowhere else.
const (
	oddWord   = "Zörblaxing"
	inChinese = "鑫龘靐麤"
)

// formsOf are the forms in which it might be left: as it is, in small letters, without
// accents, as a stem, as pairs of signs, in JSON with escapes, in base64.
func formsOf() (forms []string) {
	forms = []string{"zörblax", "zorblax", `z\u00f6rblax`, "z\\xc3\\xb6rblax", "鑫龘", "龘靐", "靐麤", `\u946b\u9f98`}
	for shift := range 3 { // base64 of a part differs with where in a group of three it begins
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(" ", shift) + oddWord))
		from := []int{0, 2, 3}[shift]
		forms = append(forms, strings.ToLower(text[from:from+12]))
	}
	return forms
}

// traces tells which files of a folder hold one of the forms. They are read by another
// process: to close one here would take the locks of SQLite away.
func traces(t *testing.T, dir string) (found []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := exec.Command("cat", file).Output()
		must(t, err)
		text = bytes.ToLower(text)
		for _, form := range formsOf() {
			if n := bytes.Count(text, []byte(form)); n > 0 {
				found = append(found, fmt.Sprintf("%s: %q, %d times", filepath.Base(file), form, n))
			}
		}
	}
	return found
}

var marked = regexp.MustCompile(`<message id="(\d+)"[^>]*>[^<]*` + oddWord)

// repeating is a worker that repeats what is to be deleted, in summaries and memories.
// It waits for release with the first span that holds hold.
func repeating(hold string, release <-chan struct{}) func(context.Context, int, llm.Request) (llm.Response, error) {
	var once sync.Once
	return func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		material := req.Messages[1].Text
		if strings.Contains(materialIn(req), hold) {
			once.Do(func() {
				select {
				case <-release:
				case <-ctx.Done():
				}
			})
		}
		if !strings.Contains(material, oddWord) {
			return summary(fmt.Sprintf("Summary %d of %s, %s.", n, spanOf(req), wordsOf(req))), nil
		}
		text := fmt.Sprintf("In %s Ada wrote one note more, word by word, and spoke of her %s", spanOf(req), oddWord)
		if strings.Contains(materialIn(req), inChinese) { // else nobody would take it for a summary of this span
			text += ", " + inChinese
		}
		summary := llmtest.Call("s", "summarize", map[string]string{"summary": text + "."})
		at := marked.FindStringSubmatch(material)
		saves := slices.ContainsFunc(req.Tools, func(tool llm.Tool) bool { return tool.Name == "memory_save" })
		if at == nil || !saves || len(req.Messages) > 2 {
			return llmtest.Use(summary), nil
		}
		seq, _ := strconv.Atoi(at[1])
		return llmtest.Use(
			llmtest.Call("a", "memory_save", map[string]any{"content": "Ada has a " + oddWord + " " + inChinese, "kind": "fact", "messages": []int{seq}}),
			llmtest.Call("b", "memory_save", map[string]any{"content": fmt.Sprintf("Ada has a machine, number %d", seq), "kind": "fact", "messages": []int{seq, seq + 1}}),
		), nil
	}
}

// tell delivers a message as a connector does, and takes it up.
func (r *rig) tell(in memory.Inbound) chat.Message {
	r.t.Helper()
	ctx := context.Background()
	n := len(r.said) + 1
	in.ID, in.AuthorID, in.Author = fmt.Sprint("m", n), "u1", "Ada"
	in.Time = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)
	if _, err := r.conv.Inbox().Deliver(ctx, in); err != nil {
		r.t.Fatal(err)
	}
	taken, err := r.conv.Inbox().TakeUp(ctx, memory.All, 100_000, time.Time{})
	if err != nil || len(taken) != 1 {
		r.t.Fatalf("took up %d messages, %v", len(taken), err)
	}
	r.c.History().Append(taken...)
	r.c.History().Stored()
	r.said = append(r.said, taken...)
	return taken[0]
}

// secretly is a message that holds the oddWord in all that a message can hold.
func secretly(text string) memory.Inbound {
	return memory.Inbound{
		Text:    fmt.Sprintf("I have a %s, a <%s> & \"%s\" %s. %s %s", oddWord, strings.ToUpper(oddWord), oddWord+"s", inChinese, text, filler(30)),
		ReplyTo: "elsewhere", Quote: "Bo: your " + oddWord + "?",
		Attachments: []chat.Attachment{
			{Kind: "file", Name: oddWord + ".txt", Type: "text/plain", Text: "all about the " + oddWord, URL: "https://x.test/" + oddWord},
			{Kind: "image", Name: "a.png", Caption: "a " + oddWord, Type: "image/png", Data: []byte(strings.Repeat(oddWord+" ", 1000))},
		},
	}
}

// recalls answers a question after a search that finds message seq.
func (r *rig) recalls(question string, seq int64) {
	r.t.Helper()
	asked := r.deliver(question, true)
	r.c.History().Begin(compactor.Context{Text: "time: now"})
	found, _ := json.Marshal(map[string]any{"messages": []map[string]any{{"seq": seq, "who": "Ada", "text": "my " + oddWord}}})
	rows := []chat.Message{
		{Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "c", Name: "recall", Arguments: `{"query":"machine"}`}}},
		{Role: llm.RoleTool, CallID: "c", Tool: "recall", Text: string(found)},
		{Role: llm.RoleAssistant, Text: "I know."},
	}
	for i := range rows {
		rows[i].Seq, rows[i].Turn, rows[i].Time = r.c.History().Next(), asked.Seq, asked.Time
		rows[i].Tokens = compactor.TokensOf(rows[i])
		r.c.History().Append(rows[i])
	}
	must(r.t, r.conv.Turns().Finish(context.Background(), memory.Outcome{Turn: asked.Seq, Messages: rows, Reply: fmt.Sprint("r", asked.Seq), Pieces: []string{"I know."}}))
	r.said = append(r.said, rows...)
	r.c.Answered()
	r.c.Check(context.Background())
}

// secretRig is a conversation in which one word is in every place that keeps text.
type secretRig struct {
	*rig
	t               *testing.T
	ctx             context.Context
	release         chan struct{} // closed: the worker may answer about the third message
	log             bytes.Buffer
	threads         []string
	one, two, three chat.Message // the messages that have the word
}

func TestNoByteOfWhatWasDeletedIsLeft(t *testing.T) {
	g := newSecretRig(t)
	g.tellFirst()
	g.rollUp()
	g.prepareAndWait()
	g.deleteAll()
	g.wantRepaired()
}

func newSecretRig(t *testing.T) *secretRig {
	g := &secretRig{t: t, ctx: t.Context(), release: make(chan struct{})}
	r := &rig{t: t, dir: folder(t), name: "discord:s/c", window: 6000, policy: compactor.DefaultPolicy()}
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

// tellFirst has the first message edited, pinned, quoted by replies, recalled, and a thread hang on it.
func (g *secretRig) tellFirst() {
	first := secretly("The first one.")
	first.Addressed = true
	g.one = g.tell(first)
	g.answer(g.one)
	g.hear("and another machine " + filler(30))
	g.edit(g.one.Seq, "I had a "+oddWord+", edited")
	if _, err := g.conv.Transcript().Pin(g.ctx, g.one.Seq, "Ada"); err != nil {
		g.t.Fatal(err)
	}
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
	must(g.t, err)
	for i := range 2 { // one is taken up, the other waits
		m := memory.Inbound{ID: fmt.Sprint("t", i), AuthorID: "u2", Author: "Bo", Text: "why?", ReplyTo: g.one.ID, Quote: "Ada: I had a " + oddWord, Time: time.Now()}
		if _, err := c.Inbox().Deliver(g.ctx, m); err != nil {
			g.t.Fatal(err)
		}
		if i > 0 {
			continue
		}
		if _, err := c.Inbox().TakeUp(g.ctx, memory.All, 10_000, time.Time{}); err != nil {
			g.t.Fatal(err)
		}
	}
}

// over counts the rows in these states over a message that have the word.
func (g *secretRig) over(seq int64, states string) int {
	return count(g.t, g.dir, fmt.Sprintf("SELECT count(*) FROM compactions WHERE state IN (%s) AND from_seq <= %d AND to_seq >= %d AND text LIKE '%%%s%%'", states, seq, seq, oddWord))
}

// rollUp talks until the summary of the first message is rolled up, which a new thread inherits.
func (g *secretRig) rollUp() {
	for i := 0; g.over(g.one.Seq, "'rolled_up'") == 0 || g.over(g.one.Seq, "'applied'") == 0; i++ {
		if i > 400 {
			g.t.Fatal("nothing is rolled up")
		}
		g.hear(fmt.Sprintf("note %d %s", i, filler(60)))
		g.settle()
	}
	g.thread(g.threads[1])
}

// prepareAndWait adds a message with a prepared summary, one that a worker is reading, and one in
// the inbox.
func (g *secretRig) prepareAndWait() {
	g.set(func(p *compactor.Policy) { p.PrepareThreshold, p.TailTokens, p.SpanTokens = 0.15, 500, 500 })
	g.two = g.tell(secretly("The second one."))
	for i := 0; g.over(g.two.Seq, "'prepared'") == 0; i++ {
		if i > 100 {
			g.t.Fatal("nothing is prepared")
		}
		g.hear(fmt.Sprintf("more %d %s", i, filler(20)))
		g.settle()
	}
	g.three = g.tell(secretly("This is the third one."))
	for i := 0; ; i++ {
		if running := g.c.Gauge().Running; running != nil && running.From <= g.three.Seq && running.To >= g.three.Seq {
			break
		}
		if i > 100 {
			g.t.Fatal("no worker reads it")
		}
		g.hear(fmt.Sprintf("yet more %d %s", i, filler(20)))
		time.Sleep(10 * time.Millisecond)
	}
	waiting := secretly("It waits.")
	waiting.ID, waiting.AuthorID, waiting.Author, waiting.Time = "w1", "u1", "Ada", time.Now()
	if _, err := g.conv.Inbox().Deliver(g.ctx, waiting); err != nil {
		g.t.Fatal(err)
	}
	if n := count(g.t, g.dir, "SELECT count(*) FROM memories WHERE content LIKE '%"+oddWord+"%'"); n == 0 {
		g.t.Fatal("no memory holds it")
	}
	if n := count(g.t, g.dir, "SELECT count(*) FROM inherited WHERE text LIKE '%"+oddWord+"%'"); n < 2 {
		g.t.Fatalf("threads have inherited it %d times", n)
	}
	if len(traces(g.t, g.dir)) == 0 {
		g.t.Fatal("the files hold nothing of it")
	}
}

func (g *secretRig) deleteAll() {
	seqs, err := g.conv.Transcript().Delete(g.ctx, []string{g.one.ID, g.two.ID, g.three.ID, "w1", "elsewhere"})
	must(g.t, err)
	g.gone = map[int64]bool{g.one.Seq: true, g.two.Seq: true, g.three.Seq: true}
	for i, m := range g.said { // as the disk has them now
		if now, err := g.conv.Transcript().Message(g.ctx, m.Seq); err == nil {
			g.said[i] = now
		}
	}
	g.apply(seqs...)
	if view := g.render(); strings.Contains(view, oddWord) {
		g.t.Errorf("the view is\n%s", view)
	}
	if _, err := g.store.Upkeep().Vacuum(g.ctx); err != nil {
		g.t.Fatal(err)
	}
	if left := traces(g.t, g.dir); left != nil {
		g.t.Errorf("while the bot runs there are left\n%s", strings.Join(left, "\n"))
	}
}

// wantRepaired checks that the summaries are repaired, and that files and log have nothing of the
// word, also after a restart.
func (g *secretRig) wantRepaired() {
	close(g.release)
	g.settle()
	g.verify()
	g.set(func(p *compactor.Policy) { p.PrepareThreshold = 0 }) // what is repaired is applied at once
	for i := range 40 {
		g.hear(fmt.Sprintf("later %d %s", i, filler(20)))
		g.settle()
	}
	for _, row := range g.c.Gauge().Stack {
		if row.By != compactor.ByWorker || strings.Contains(row.Text, oddWord) {
			g.t.Errorf("after the repair the row over %d to %d by %s says %q", row.From, row.To, row.By, row.Text)
		}
	}
	kept := count(g.t, g.dir, "SELECT count(*) FROM memories WHERE content LIKE 'Ada has a machine%'")
	g.restart()
	if view := g.render(); strings.Contains(view, oddWord) {
		g.t.Errorf("after a restart the view is\n%s", view)
	}
	g.close()
	g.c = nil
	if left := traces(g.t, g.dir); left != nil {
		g.t.Errorf("at the end there are left\n%s", strings.Join(left, "\n"))
	}
	if kept == 0 {
		g.t.Error("memories that another message supports are gone")
	}
	if strings.Contains(g.log.String(), oddWord) {
		g.t.Errorf("the log says\n%s", g.log.String())
	}
}
