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

	"cairn/internal/check"

	"cairn/chat"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/store"
)

// The word of the deleted messages, which is nowhere else.
const (
	oddWord   = "Zörblaxing"
	inChinese = "鑫龘靐麤"
)

// formsOf returns the forms in which the word might be left: as it is, in lower case, without
// accents, as a stem, as pairs of characters, escaped in JSON, and in base64.
func formsOf() (forms []string) {
	forms = []string{"zörblax", "zorblax", `z\u00f6rblax`, "z\\xc3\\xb6rblax", "鑫龘", "龘靐", "靐麤", `\u946b\u9f98`}
	for shift := range 3 { // base64 depends on the position within a group of three bytes
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(" ", shift) + oddWord))
		from := []int{0, 2, 3}[shift]
		forms = append(forms, strings.ToLower(text[from:from+12]))
	}
	return forms
}

// traces returns which files of a folder contain one of the forms. Another process reads them:
// closing one here would release SQLite's locks.
func traces(t *testing.T, dir string) (found []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := exec.Command("cat", file).Output()
		check.NoError(t, err)
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

// repeating is a worker that repeats the deleted text in summaries and memories. It waits for
// release with the first span that contains hold.
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
		if strings.Contains(materialIn(req), inChinese) { // so that it is accepted as a summary of this span
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

// secretly returns a message with oddWord in every field.
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
	x := r.begin(r.deliver(question, true))
	found, _ := json.Marshal(map[string]any{"messages": []map[string]any{{"seq": seq, "who": "Ada", "text": "my " + oddWord}}})
	x.add(chat.Message{Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "c", Name: "recall", Arguments: `{"query":"machine"}`}}})
	x.add(chat.Message{Role: llm.RoleTool, CallID: "c", Tool: "recall", Text: string(found)})
	x.finish("I know.")
}
