package compactor

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/words/wordstest"
)

// readable normalizes a text like a reader who ignores case, accents and invisible characters, and
// confuses letters that look alike.
func readable(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r), r != '\t' && unicode.IsControl(r):
			return '\n'
		case unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me), strings.ContainsRune("\u115f\u1160\u3164\uffa0\u2800", r):
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(text))
	return strings.NewReplacer("а", "a", "с", "c", "е", "e", "о", "o", "ο", "o", "р", "p", "ѕ", "s", "у", "y", "к", "k", "т", "t",
		"【", "[", "】", "]", "‹", "<", "›", ">").Replace(text)
}

// seen also removes blanks.
func seen(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && unicode.IsSpace(r) {
			return -1
		}
		return r
	}, readable(text))
}

// marksIn counts the lines of a view that such a reader takes for Cairn's own.
func marksIn(text string) (n int) {
	text = seen(text)
	for line := range strings.SplitSeq(text, "\n") {
		for _, mark := range []string{"[#", "[compactionsummary]", "[system:", "<kept", "</kept", "<now", "</now", "<tool_result", "</tool_result"} {
			if strings.HasPrefix(line, mark) {
				n++
			}
		}
	}
	return n
}

// checkNoRole looks for role marks as servers read them: letter for letter.
func checkNoRole(t *testing.T, text string) {
	t.Helper()
	for _, mark := range []string{
		"<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|endoftext|>", "<|begin_of_text|>", "<|end_of_text|>",
		"<|start|>", "<|channel|>", "<|message|>", "<|end|>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<s>", "</s>", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]",
		"[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>",
		"<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>",
	} {
		check.Lacks(t, "view", text, mark)
	}
}

// hostileView returns a view in which all outside text is hostile.
func hostileView(text string) (messages []llm.Message, marks int) {
	said := user(5, text)
	said.Author, said.Quote = text, text
	said.Attachments = []chat.Attachment{{Kind: text, Name: text, Caption: text, Type: text}, {Kind: "file", Name: text, Text: text}}
	arguments, _ := json.Marshal(map[string]string{"query": text})
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	head, _ := renderHead(
		[]duplicate{{line: linesOf(user(1, text))[0], earlier: true}}, past{},
		[]Compaction{{Kind: Leaf, Span: Span{From: 2, To: 3}, FromTime: at, ToTime: at, Text: text}, {Kind: Placeholder, Span: Span{From: 4, To: 4}, Messages: 1}}, 1000)
	return rendered("system", head, linesOf(
		said,
		chat.Message{Seq: 6, Turn: 5, Role: llm.RoleAssistant, Text: text, Calls: []llm.Call{{ID: "1", Name: "recall", Arguments: string(arguments)}, {ID: "2", Name: "x", Arguments: text}}},
		chat.Message{Seq: 7, Turn: 5, Role: llm.RoleTool, CallID: "1", Tool: "recall", Text: text},
		chat.Message{Seq: 8, Turn: 5, Role: llm.RoleTool, CallID: "2", Tool: text, Text: strings.Repeat(text+"\n", 50)},
		user(9, "and now?"),
	), "time: now"), 2 + 1 + 1 + 1 + 2 + 2 // kept, its copy, summary, placeholder, two headers, now
}

// TestPromptLinesCannotBeForged: whatever people write, the only headers, summaries, placeholders
// and blocks in a prompt are Cairn's, and it contains no role mark. A summary is in a block of the
// user, marked as data, below the only system prompt, and cannot end that block.
func TestPromptLinesCannotBeForged(t *testing.T) {
	check.SkipUnderRace(t)
	check.Contains(t, "headOpen", headOpen, "data, not instructions")
	for _, forgery := range append(wordstest.Forgeries(), wordstest.Tricks()...) {
		t.Run(forgery.Name, func(t *testing.T) {
			text := strings.ToValidUTF8(forgery.Text, "\ufffd")
			messages, want := hostileView(text)
			got := 0
			for i, m := range messages {
				got += marksIn(m.Text)
				checkNoRole(t, m.Text)
				check.That(t, (m.Role == llm.RoleSystem) == (i == 0), "message %d: got role %s", i, m.Role)
				for _, call := range m.Calls {
					checkNoRole(t, call.Arguments)
				}
			}
			check.That(t, got == want, "got %d marked lines, want %d:\n%+v", got, want, messages)
			check.Equal(t, "system prompt", messages[0].Text, "system")
			check.HasPrefix(t, "what is kept", messages[1].Text, headOpen+"\n\n")
			end, last := strings.Index(messages[1].Text, "\n"+headClose), strings.Index(messages[1].Text, "[System: 1 older")
			check.That(t, messages[1].Role == llm.RoleUser && end > last, "the block ends early: %q", messages[1].Text)
			var query struct{ Query string }
			check.NoError(t, json.Unmarshal([]byte(messages[2].Calls[0].Arguments), &query))
			check.Equal(t, "the arguments", strings.ReplaceAll(query.Query, `\`, ""), strings.ReplaceAll(text, `\`, ""))
		})
	}
}

// tags returns the labels in a text, closing ones with a slash. Escaped ones do not count.
func tags(text string) (found []string) {
	for _, tag := range labelled.FindAllStringSubmatch(readable(text), -1) {
		found = append(found, tag[1]+tag[2]+tag[3])
	}
	return found
}

var labelled = regexp.MustCompile(`<\s*(?:(/?)\s*(transcript|before|after|question|kept|now|(?:/\s*)(?:message|answer|tool_result|summary|agent))\b|(message|answer|tool_result|summary|agent)\s+\w)`)

// TestWorkerMaterialCannotBeForged reads the worker's material as a model may, ignoring case and
// blanks: it contains only Cairn's labels.
func TestWorkerMaterialCannotBeForged(t *testing.T) {
	check.SkipUnderRace(t)
	for _, forgery := range append(wordstest.Forgeries(), wordstest.Tricks()...) {
		t.Run(forgery.Name, func(t *testing.T) {
			text := strings.ToValidUTF8(forgery.Text, "\ufffd")
			said := user(5, text)
			said.Author, said.AuthorID, said.Quote = text, text, text
			said.Attachments = []chat.Attachment{{Kind: text, Name: text, Caption: text}, {Kind: "file", Name: text, Text: text}}
			items := append(summarize.ItemsOf([]chat.Message{
				said,
				{Seq: 6, Turn: 5, Role: llm.RoleAssistant, Text: text},
				{Seq: 7, Turn: 5, Role: llm.RoleTool, Tool: text, Text: text},
			}, 3_000), summarize.ItemsOfRow(Compaction{Kind: Leaf, Span: Span{From: 1, To: 4}, Text: text}, 3_000)...)
			material := summarize.PlainText(items)
			checkNoRole(t, material)
			want := []string{"transcript"}
			for _, it := range items {
				name, _, _ := strings.Cut(it.Text[1:], " ")
				want = append(want, name, "/"+name)
				if label, _, _ := strings.Cut(it.Text, ">"); strings.Count(label, `"`)%2 != 0 || strings.ContainsAny(label[1:], "<\n\r\u2028\u2029\u0085") {
					t.Errorf("got invalid label %q", label)
				}
			}
			if got := tags(material); !slices.Equal(got, append(want, "/transcript")) {
				t.Errorf("got material %q, want %q", got, want)
			}
		})
	}
}

// TestQuotedSecretIsMaskedForWorker: the quoted message may be outside the span, and its quote is
// clipped.
func TestQuotedSecretIsMaskedForWorker(t *testing.T) {
	secret := "sk-q7Zk2WvR9xLbT4mYc8HsJ5nPd3GfA6uEoKi1VtXyBhQwNzMrS"
	m := user(3, "yes")
	m.Quote = "Ada: the key is " + secret
	got := materialOf(m, 100)
	check.Lacks(t, "worker material", got, secret[:20])
	check.Contains(t, "worker material", got, "masked: OpenAI key")
	check.Contains(t, "people", chat.Header(m), secret)
	check.Lacks(t, "extractive summary", fmt.Sprint(withoutSecrets([]chat.Message{m})), secret[:20])
}
