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

func TestNoByteOfWhatWasDeletedIsLeft(t *testing.T) {
	ctx := t.Context()
	release := make(chan struct{})
	var log bytes.Buffer
	r := &rig{t: t, dir: folder(t), name: "discord:s/c", window: 6000, policy: compactor.DefaultPolicy()}
	r.policy.PrepareThreshold, r.policy.KeepFirst, r.policy.RollupFanIn, r.policy.StackBudget = 0, 3, 2, 0.03
	r.worker = &llmtest.Model{Func: repeating("the third one", release)}
	r.tune = func(o *compactor.Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	r.open()
	t.Cleanup(r.close)

	// Said, edited, pinned, quoted by replies, hung on by a thread, recalled.
	first := secretly("The first one.")
	first.Addressed = true
	one := r.tell(first)
	r.answer(one)
	r.hear("and another machine " + filler(30))
	r.edit(one.Seq, "I had a "+oddWord+", edited")
	if _, err := r.conv.Transcript().Pin(ctx, one.Seq, "Ada"); err != nil {
		t.Fatal(err)
	}
	r.c.Reread()
	threads := []string{"discord:s/c/" + one.ID, "discord:s/c/later"}
	thread := func(name string) {
		t.Helper()
		c, err := r.store.Conversation(ctx, name)
		must(t, err)
		for i := range 2 { // one is taken up, the other waits
			m := memory.Inbound{ID: fmt.Sprint("t", i), AuthorID: "u2", Author: "Bo", Text: "why?", ReplyTo: one.ID, Quote: "Ada: I had a " + oddWord, Time: time.Now()}
			if _, err := c.Inbox().Deliver(ctx, m); err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				continue
			}
			if _, err := c.Inbox().TakeUp(ctx, memory.All, 10_000, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	thread(threads[0])
	r.recalls("what did I have?", one.Seq)

	// Summed up, rolled up; then a thread inherits that.
	over := func(seq int64, states string) int {
		return count(t, r.dir, fmt.Sprintf("SELECT count(*) FROM compactions WHERE state IN (%s) AND from_seq <= %d AND to_seq >= %d AND text LIKE '%%%s%%'", states, seq, seq, oddWord))
	}
	for i := 0; over(one.Seq, "'rolled_up'") == 0 || over(one.Seq, "'applied'") == 0; i++ {
		if i > 400 {
			t.Fatal("nothing is rolled up")
		}
		r.hear(fmt.Sprintf("note %d %s", i, filler(60)))
		r.settle()
	}
	thread(threads[1])
	// One that is prepared, one that is read by a worker now, one that waits.
	r.set(func(p *compactor.Policy) { p.PrepareThreshold, p.TailTokens, p.SpanTokens = 0.15, 500, 500 })
	two := r.tell(secretly("The second one."))
	for i := 0; over(two.Seq, "'prepared'") == 0; i++ {
		if i > 100 {
			t.Fatal("nothing is prepared")
		}
		r.hear(fmt.Sprintf("more %d %s", i, filler(20)))
		r.settle()
	}
	three := r.tell(secretly("This is the third one."))
	for i := 0; ; i++ {
		if running := r.c.Gauge().Running; running != nil && running.From <= three.Seq && running.To >= three.Seq {
			break
		}
		if i > 100 {
			t.Fatal("no worker reads it")
		}
		r.hear(fmt.Sprintf("yet more %d %s", i, filler(20)))
		time.Sleep(10 * time.Millisecond)
	}
	waiting := secretly("It waits.")
	waiting.ID, waiting.AuthorID, waiting.Author, waiting.Time = "w1", "u1", "Ada", time.Now()
	if _, err := r.conv.Inbox().Deliver(ctx, waiting); err != nil {
		t.Fatal(err)
	}
	if n := count(t, r.dir, "SELECT count(*) FROM memories WHERE content LIKE '%"+oddWord+"%'"); n == 0 {
		t.Fatal("no memory holds it")
	}
	if n := count(t, r.dir, "SELECT count(*) FROM inherited WHERE text LIKE '%"+oddWord+"%'"); n < 2 {
		t.Fatalf("threads have inherited it %d times", n)
	}
	if len(traces(t, r.dir)) == 0 {
		t.Fatal("the files hold nothing of it")
	}

	seqs, err := r.conv.Transcript().Delete(ctx, []string{one.ID, two.ID, three.ID, "w1", "elsewhere"})
	must(t, err)
	r.gone = map[int64]bool{one.Seq: true, two.Seq: true, three.Seq: true}
	for i, m := range r.said { // as the disk has them now
		if now, err := r.conv.Transcript().Message(ctx, m.Seq); err == nil {
			r.said[i] = now
		}
	}
	r.apply(seqs...)
	if view := r.render(); strings.Contains(view, oddWord) {
		t.Errorf("the view is\n%s", view)
	}
	if _, err := r.store.Upkeep().Vacuum(ctx); err != nil {
		t.Fatal(err)
	}
	if left := traces(t, r.dir); left != nil {
		t.Errorf("while the bot runs there are left\n%s", strings.Join(left, "\n"))
	}
	close(release)
	r.settle()
	r.verify()
	r.set(func(p *compactor.Policy) { p.PrepareThreshold = 0 }) // what is repaired is applied at once
	for i := range 40 {
		r.hear(fmt.Sprintf("later %d %s", i, filler(20)))
		r.settle()
	}
	for _, row := range r.c.Gauge().Stack {
		if row.By != compactor.ByWorker || strings.Contains(row.Text, oddWord) {
			t.Errorf("after the repair the row over %d to %d by %s says %q", row.From, row.To, row.By, row.Text)
		}
	}
	kept := count(t, r.dir, "SELECT count(*) FROM memories WHERE content LIKE 'Ada has a machine%'")
	r.restart()
	if view := r.render(); strings.Contains(view, oddWord) {
		t.Errorf("after a restart the view is\n%s", view)
	}
	r.close()
	r.c = nil
	if left := traces(t, r.dir); left != nil {
		t.Errorf("at the end there are left\n%s", strings.Join(left, "\n"))
	}
	if kept == 0 {
		t.Error("memories that another message supports are gone")
	}
	if strings.Contains(log.String(), oddWord) {
		t.Errorf("the log says\n%s", log.String())
	}
}
