package compactor_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
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
	"cairn/store"
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
func (r *rig) tell(in store.Inbound) chat.Message {
	r.t.Helper()
	ctx := context.Background()
	n := len(r.said) + 1
	in.ID, in.AuthorID, in.Author = fmt.Sprint("m", n), "u1", "Ada"
	in.Time = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)
	if _, err := r.conv.Inbox().Deliver(ctx, in); err != nil {
		r.t.Fatal(err)
	}
	taken, err := r.conv.Inbox().TakeUp(ctx, store.All, 100_000, time.Time{})
	if err != nil || len(taken) != 1 {
		r.t.Fatalf("took up %d messages, %v", len(taken), err)
	}
	r.c.History().Append(taken...)
	r.c.History().Stored()
	r.said = append(r.said, taken...)
	return taken[0]
}

// secretly is a message that holds the oddWord in all that a message can hold.
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
		rows[i].Tokens = chat.TokensOf(rows[i])
		r.c.History().Append(rows[i])
	}
	must(r.t, r.conv.Turns().Finish(context.Background(), store.Outcome{Turn: asked.Seq, Messages: rows, Reply: fmt.Sprint("r", asked.Seq), Pieces: []string{"I know."}}))
	r.said = append(r.said, rows...)
	r.c.Answered()
	r.c.Check(context.Background())
}
