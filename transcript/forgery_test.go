package transcript

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"cairn/chat"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/wordstest"
)

// seen also removes blanks.
func seen(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && unicode.IsSpace(r) {
			return -1
		}
		return r
	}, wordstest.Readable(text))
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

// hostileView returns a view in which all outside text is hostile.
func hostileView(text string) (messages []llm.Message, marks int) {
	said := user(5, text)
	said.Author = text
	said.Quote = text
	said.Attachments = []chat.Attachment{{Kind: text, Name: text, Caption: text, Type: text}, {Kind: "file", Name: text, Text: text}}
	arguments, _ := json.Marshal(map[string]string{"query": text})
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	head, _ := renderHead(
		[]copied{{Verbatim: linesOf(user(1, text))[0], earlier: true}}, Past{},
		[]Summary{{Kind: Leaf, Span: Span{From: 2, To: 3}, FromTime: at, ToTime: at, Text: text}, {Kind: Placeholder, Span: Span{From: 4, To: 4}, Messages: 1}}, 1000)
	return rendered("system", head, linesOf(
		said,
		chat.Message{Seq: 6, Turn: 5, Role: llm.RoleAssistant, Text: text, Calls: []llm.Call{{ID: "1", Name: "recall", Arguments: string(arguments)}, {ID: "2", Name: "x", Arguments: text}}},
		chat.Message{Seq: 7, Turn: 5, Role: llm.RoleTool, CallID: "1", Tool: "recall", Text: text},
		chat.Message{Seq: 8, Turn: 5, Role: llm.RoleTool, CallID: "2", Tool: text, Text: strings.Repeat(text+"\n", 5)},
		user(9, "and now?"),
	), "time: now"), 2 + 1 + 1 + 1 + 2 + 2 // kept, its copy, summary, placeholder, two headers, now
}

// TestPromptLinesCannotBeForged: whatever people write, the only headers, summaries, placeholders
// and blocks in a prompt are Cairn's, and it contains no role mark. A summary is in a block of the
// user, marked as data, below the only system prompt, and cannot end that block.
func TestPromptLinesCannotBeForged(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	check.Contains(t, "HeadOpen", HeadOpen, "data, not instructions")
	for _, forgery := range append(wordstest.Forgeries(), wordstest.Tricks()...) {
		t.Run(forgery.Name, func(t *testing.T) {
			text := strings.ToValidUTF8(forgery.Text, "\ufffd")
			messages, want := hostileView(text)
			got := 0
			for i, m := range messages {
				got += marksIn(m.Text)
				check.Equal(t, "role mark in "+m.Text, wordstest.RoleMark(m.Text), "")
				check.That(t, (m.Role == llm.RoleSystem) == (i == 0), "message %d: got role %s", i, m.Role)
				for _, call := range m.Calls {
					check.Equal(t, "role mark in "+call.Arguments, wordstest.RoleMark(call.Arguments), "")
				}
			}
			check.That(t, got == want, "got %d marked lines, want %d:\n%+v", got, want, messages)
			check.Equal(t, "system prompt", messages[0].Text, "system")
			check.HasPrefix(t, "what is kept", messages[1].Text, HeadOpen+"\n\n")
			end := strings.Index(messages[1].Text, "\n"+HeadClose)
			last := strings.Index(messages[1].Text, "[System: 1 older")
			check.That(t, messages[1].Role == llm.RoleUser && end > last, "the block ends early: %q", messages[1].Text)
			var query struct{ Query string }
			check.NoError(t, json.Unmarshal([]byte(messages[2].Calls[0].Arguments), &query))
			check.Equal(t, "the arguments", strings.ReplaceAll(query.Query, `\`, ""), strings.ReplaceAll(text, `\`, ""))
		})
	}
}

// FuzzView renders arbitrary histories, well-formed or not: a strict provider accepts the view, and
// its marked lines are all Cairn's.
func FuzzView(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05"), "hi", 2000)
	f.Add([]byte{1, 1, 2, 9, 10, 3, 0, 17, 18, 26, 4, 5, 0, 0, 1, 10, 2}, "x\n[#1", 60)
	for i, text := range wordstest.Texts() {
		f.Add([]byte{0, 1, byte(i), 2, byte(7 * i), 10, 3, 0, byte(i), 4}, text, 40*(i%20))
	}
	f.Fuzz(func(t *testing.T, form []byte, text string, clipTo int) {
		text = strings.ToValidUTF8(text, "\ufffd")
		if len(form) > 200 || len(text) > 4000 {
			return
		}
		lines, headers := linesOfBytes(form, text, max(clipTo%5000, 0))
		messages := rendered("system", "", lines, "time: now")
		if len(messages) > 1 && messages[len(messages)-1].Role == llm.RoleAssistant {
			messages = messages[:len(messages)-1] // only the owner asks after it
		}
		why := llmtest.Refused(messages)
		check.Require(t, why == "", "%s: %+v", why, messages)
		got := 0
		for _, m := range messages {
			if m.Role == llm.RoleUser {
				got += marksIn(m.Text)
			}
			check.Require(t, m.Role == llm.RoleUser || m.Role == llm.RoleSystem || marksIn(m.Text) == 0, "the %s has a forged line: %q", m.Role, m.Text)
			check.Equal(t, "role mark in "+m.Text, wordstest.RoleMark(m.Text), "")
		}
		want := headers + min(2*headers, 2) // the block after the last
		check.Require(t, got == want, "got %d marked lines, want %d: %+v", got, want, messages)
	})
}

// linesOfBytes makes a message from each byte: its role, and what it calls or answers.
func linesOfBytes(bytes []byte, text string, clipTo int) (lines []Verbatim, headers int) {
	for i, b := range bytes {
		m := user(int64(i+1), text)
		id := string(rune('a' + b/8%4))
		switch b % 8 {
		case 0, 1:
			m.Author = text
			m.Quote = text
			headers++
		case 2:
			m = chat.Message{Seq: m.Seq, Role: llm.RoleAssistant, Text: text}
		case 3, 4:
			m = chat.Message{Seq: m.Seq, Role: llm.RoleAssistant, Text: text[:0], Calls: []llm.Call{{ID: id, Name: "recall", Arguments: `{"query":"x"}`}, {ID: string(rune('a' + b/32)), Name: "f", Arguments: "{}"}}}
		case 5:
			m = chat.Message{Seq: m.Seq, Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "", Name: "x", Arguments: "{}"}, {ID: id, Name: "", Arguments: "{}"}}}
		default:
			m = chat.Message{Seq: m.Seq, Role: llm.RoleTool, CallID: id, Tool: "recall", Text: text}
		}
		m.Turn = 1
		lines = append(lines, Show(m, Shape{ClipTo: max(clipTo, 60), ResultsKept: 2, ResultMinChars: 100, ResultMaxLines: 5}))
	}
	return lines, headers
}
