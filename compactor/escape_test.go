package compactor

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/wordstest"

	"golang.org/x/text/unicode/norm"
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
	said.Author = text
	said.Quote = text
	said.Attachments = []chat.Attachment{{Kind: text, Name: text, Caption: text, Type: text}, {Kind: "file", Name: text, Text: text}}
	arguments, _ := json.Marshal(map[string]string{"query": text})
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	head, _ := renderHead(
		[]duplicate{{line: linesOf(user(1, text))[0], earlier: true}}, past{},
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
			end := strings.Index(messages[1].Text, "\n"+headClose)
			last := strings.Index(messages[1].Text, "[System: 1 older")
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
			said.Author = text
			said.AuthorID = text
			said.Quote = text
			said.Attachments = []chat.Attachment{{Kind: text, Name: text, Caption: text}, {Kind: "file", Name: text, Text: text}}
			messages := []chat.Message{
				said,
				{Seq: 6, Turn: 5, Role: llm.RoleAssistant, Text: text},
				{Seq: 7, Turn: 5, Role: llm.RoleTool, Tool: text, Text: text},
			}
			items := append(summarize.ItemsOf(messages, 3_000), summarize.ItemsOfRow(Summary{Kind: Leaf, Span: Span{From: 1, To: 4}, Text: text}, 3_000)...)
			material := summarize.PlainText(items)
			checkNoRole(t, material)
			want := []string{"transcript"}
			for _, it := range items {
				name, _, _ := strings.Cut(it.Text[1:], " ")
				want = append(want, name, "/"+name)
				label, _, _ := strings.Cut(it.Text, ">")
				check.That(t, strings.Count(label, `"`)%2 == 0 && !strings.ContainsAny(label[1:], "<\n\r\u2028\u2029\u0085"), "got invalid label %q", label)
			}
			check.EqualAll(t, "labels", tags(material), append(want, "/transcript"))
			s := view{headText: headOpen + "\n\n" + chat.Escape(text) + "\n" + headClose, lines: linesOf(messages...)}
			briefing := s.briefing(100_000, user(8, text))
			checkNoRole(t, briefing)
			check.EqualAll(t, "labels of a briefing", tags(briefing), []string{"transcript", "/transcript", "question", "message", "/message", "/question"})
		})
	}
}

// TestQuotedSecretIsMaskedForWorker: the quoted message may be outside the span, and its quote is clipped.
func TestQuotedSecretIsMaskedForWorker(t *testing.T) {
	secret := "sk-q7Zk2WvR9xLbT4mYc8HsJ5nPd3GfA6uEoKi1VtXyBhQwNzMrS"
	m := user(3, "yes")
	m.Quote = "Ada: the key is " + secret
	got := materialOf(m, 100)
	check.Lacks(t, "worker material", got, secret[:20])
	check.Contains(t, "worker material", got, "masked: OpenAI key")
	check.Contains(t, "people", chat.Header(m), secret)
	check.Lacks(t, "extractive summary", fmt.Sprint(withoutSecrets([]chat.Message{m})), secret[:20])
	s := view{headText: headOpen + "\n\nAda: " + secret + "\n" + headClose, lines: linesOf(m, resultTo("1", strings.Repeat("word ", 500)))}
	s.lines[1].text = "[Previous: used bash (#4)] Error: " + secret // cleared
	check.Lacks(t, "briefing", s.briefing(10_000, user(5, "Why?")), secret[:20])
}

// FuzzView renders arbitrary histories, well-formed or not: a strict provider accepts the view, and
// its marked lines are all Cairn's.
func FuzzView(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05"), "hi", 2000)
	f.Add([]byte{1, 1, 2, 9, 10, 3, 0, 17, 18, 26, 4, 5, 0, 0, 1, 10, 2}, "x\n[#1", 60)
	for i, text := range wordstest.Texts() {
		f.Add([]byte{0, 1, byte(i), 2, byte(7 * i), 10, 3, 0, byte(i), 4}, text, 40*(i%20))
	}
	f.Fuzz(func(t *testing.T, shape []byte, text string, clipTo int) {
		text = strings.ToValidUTF8(text, "\ufffd")
		if len(shape) > 200 || len(text) > 4000 {
			return
		}
		lines, headers := linesOfBytes(shape, text, max(clipTo%5000, 0))
		messages := rendered("system", "", lines, "time: now")
		if len(messages) > 1 && messages[len(messages)-1].Role == llm.RoleAssistant {
			messages = messages[:len(messages)-1] // only the owner asks after it
		}
		why := refusedByAStrictProvider(messages)
		check.Require(t, why == "", "%s: %+v", why, messages)
		got := 0
		for _, m := range messages {
			if m.Role == llm.RoleUser {
				got += marksIn(m.Text)
			}
			check.Require(t, m.Role == llm.RoleUser || m.Role == llm.RoleSystem || marksIn(m.Text) == 0, "the %s has a forged line: %q", m.Role, m.Text)
			checkNoRole(t, m.Text)
		}
		want := headers + min(2*headers, 2) // the block after the last
		check.Require(t, got == want, "got %d marked lines, want %d: %+v", got, want, messages)
	})
}

// linesOfBytes makes a message from each byte: its role, and what it calls or answers.
func linesOfBytes(bytes []byte, text string, clipTo int) (lines []line, headers int) {
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
		lines = append(lines, lineOf(m, shape{clipTo: max(clipTo, 60), kept: 2, minChars: 100, maxLines: 5}))
	}
	return lines, headers
}

// refusedByAStrictProvider returns what is wrong with a request, or "".
func refusedByAStrictProvider(messages []llm.Message) string {
	owed := map[string]bool{}
	for i, m := range messages {
		switch {
		case m.Role != llm.RoleTool && len(owed) > 0:
			return "a call has no result"
		case m.Role == llm.RoleSystem && i > 0:
			return "a second system message"
		case m.Role == llm.RoleUser && (m.Text == "" || i > 0 && messages[i-1].Role == llm.RoleUser):
			return "an empty message of a user, or two in a row"
		case m.Role == llm.RoleAssistant && m.Text == "" && len(m.Calls) == 0:
			return "an empty answer"
		case m.Role == llm.RoleTool && !owed[m.CallID]:
			return "a result without a call"
		}
		delete(owed, m.CallID)
		for _, call := range m.Calls {
			if call.ID == "" || call.Name == "" || owed[call.ID] || !json.Valid([]byte(call.Arguments)) {
				return "a call that is none"
			}
			owed[call.ID] = true
		}
	}
	if len(owed) > 0 {
		return "a call has no result"
	}
	return ""
}

// FuzzPatch sets a value by its text, as /settings does: it is rejected with a message, or yields a
// policy that is valid or reported as invalid.
func FuzzPatch(f *testing.F) {
	for _, key := range Keys() {
		for _, value := range []string{"", "0", "-1", "1e309", "NaN", "0.5", "80", "5m", "-5m", "true", "off", "9223372036854775808", "\x00"} {
			f.Add(key, value)
		}
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		policy, wrong := Patch{key: value}.Over(DefaultPolicy())
		for _, e := range append(wrong, policy.Validate()...) {
			check.Require(t, e.Error() != "", "%q = %q: %#v", key, value, e)
		}
		check.Require(t, len(wrong) != 0 || len(policy.Validate()) != 0 || policy.Value(key) != "" || strings.TrimSpace(value) == "",
			"%q = %q is accepted and shows nothing", key, value)
	})
}
