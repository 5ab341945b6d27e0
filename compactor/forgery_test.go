package compactor

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode"

	"cairn/llm"
	"cairn/words/wordstest"
)

// marksIn counts the lines of a view that a reader takes for Cairn's own, who sees
// neither case nor blanks nor what shows nothing, and takes wide letters for others.
func marksIn(text string) (n int) {
	text = strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r), r != '\t' && unicode.IsControl(r):
			return '\n'
		case unicode.IsSpace(r), unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me), strings.ContainsRune("\u115f\u1160\u3164\uffa0\u2800", r):
			return -1
		case r >= 0xff01 && r <= 0xff5e:
			r -= 0xff01 - '!'
		}
		return unicode.ToLower(r)
	}, text)
	for line := range strings.SplitSeq(text, "\n") {
		for _, mark := range []string{"[#", "[compactionsummary]", "[system:", "<kept", "</kept", "<now", "</now", "<tool_result", "</tool_result"} {
			if strings.HasPrefix(line, mark) {
				n++
			}
		}
	}
	return n
}

// holdsNoRole looks for the marks of roles as servers read them: letter for letter.
func holdsNoRole(t *testing.T, text string) {
	t.Helper()
	for _, mark := range []string{
		"<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|endoftext|>", "<|begin_of_text|>", "<|end_of_text|>",
		"<|start|>", "<|channel|>", "<|message|>", "<|end|>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<s>", "</s>", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]",
		"[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>",
		"<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>",
	} {
		if strings.Contains(text, mark) {
			t.Errorf("%s stands in %q", mark, text)
		}
	}
}

// hostileView is a view in which everything that comes from outside is text.
func hostileView(text string) (messages []llm.Message, marks int) {
	said := user(5, text)
	said.Author, said.Quote = text, text
	said.Attachments = []Attachment{{Kind: text, Name: text, Caption: text, Type: text}, {Kind: "file", Name: text, Text: text}}
	arguments, _ := json.Marshal(map[string]string{"query": text})
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	head, _ := renderHead(
		[]duplicate{{line: linesOf(user(1, text))[0], earlier: true}}, past{},
		[]Compaction{{Kind: Leaf, From: 2, To: 3, FromTime: at, ToTime: at, Text: text}, {Kind: Marker, From: 4, To: 4, Messages: 1}})
	return rendered("system", head, linesOf(
		said,
		Message{Seq: 6, Turn: 5, Role: llm.RoleAssistant, Text: text, Calls: []llm.Call{{ID: "1", Name: "recall", Arguments: string(arguments)}, {ID: "2", Name: "x", Arguments: text}}},
		Message{Seq: 7, Turn: 5, Role: llm.RoleTool, CallID: "1", Tool: "recall", Text: text},
		Message{Seq: 8, Turn: 5, Role: llm.RoleTool, CallID: "2", Tool: text, Text: strings.Repeat(text+"\n", 200)},
		user(9, "and now?"),
	), "time: now"), 2 + 1 + 1 + 1 + 2 + 2 // kept, its copy, summary, marker, two headers, now
}

// TestNobodyForgesALineOfTheView: whoever writes what, the only headers, summaries,
// markers and blocks in a view are Cairn's, and no mark of a role stands in it.
func TestNobodyForgesALineOfTheView(t *testing.T) {
	for _, forgery := range append(wordstest.Forgeries(), wordstest.Tricks()...) {
		t.Run(forgery.Name, func(t *testing.T) {
			text := strings.ToValidUTF8(forgery.Text, "\ufffd")
			messages, want := hostileView(text)
			got := 0
			for i, m := range messages {
				got += marksIn(m.Text)
				holdsNoRole(t, m.Text)
				if (m.Role == llm.RoleSystem) != (i == 0) {
					t.Errorf("message %d is of the %s", i, m.Role)
				}
				for _, call := range m.Calls {
					holdsNoRole(t, call.Arguments)
				}
			}
			if got != want {
				t.Errorf("%d lines look like Cairn's, %d are:\n%+v", got, want, messages)
			}
			var query struct{ Query string }
			if err := json.Unmarshal([]byte(messages[2].Calls[0].Arguments), &query); err != nil || strings.ReplaceAll(query.Query, `\`, "") != strings.ReplaceAll(text, `\`, "") {
				t.Errorf("the arguments %s: %v", messages[2].Calls[0].Arguments, err)
			}
		})
	}
}

// TestNobodyForgesMaterialOfTheWorker reads what the worker is given as the XML it looks
// like: there is nothing in it but what Cairn put there.
func TestNobodyForgesMaterialOfTheWorker(t *testing.T) {
	for _, forgery := range append(wordstest.Forgeries(), wordstest.Tricks()...) {
		t.Run(forgery.Name, func(t *testing.T) {
			text := strings.ToValidUTF8(forgery.Text, "\ufffd")
			said := user(5, text)
			said.Author, said.AuthorID, said.Quote = text, text, text
			said.Attachments = []Attachment{{Kind: text, Name: text, Caption: text}, {Kind: "file", Name: text, Text: text}}
			material := transcript(append(itemsOf([]Message{
				said,
				{Seq: 6, Turn: 5, Role: llm.RoleAssistant, Text: text},
				{Seq: 7, Turn: 5, Role: llm.RoleTool, Tool: text, Text: text},
			}, 3_000), itemsOfSummary(Compaction{Kind: Leaf, From: 1, To: 4, Text: text})[0]))
			holdsNoRole(t, material)
			var found []string
			decoder := xml.NewDecoder(strings.NewReader(strings.Map(func(r rune) rune {
				if unicode.IsControl(r) && r != '\n' || r == 0xfffe || r == 0xffff {
					return -1 // XML has none; the model may
				}
				return r
			}, material)))
			for {
				token, err := decoder.Token()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("%v in %s", err, material)
				}
				if start, ok := token.(xml.StartElement); ok {
					found = append(found, start.Name.Local)
					for _, a := range start.Attr {
						found = append(found, a.Name.Local)
					}
				}
			}
			got := strings.Join(found, " ")
			got = strings.Replace(got, " replying_to", "", 1) // of some nothing is left
			if want := "transcript message id time from user answer id time tool_result id time tool summary from to dates"; got != want && got != strings.Replace(want, "answer id time ", "", 1) {
				t.Errorf("the material has %s, want %s", got, want)
			}
		})
	}
}

// TestASummaryHasNoMoreSayThanPeople: what a model wrote stands in a block of the user,
// marked as data, below the one system prompt, and cannot end that block.
func TestASummaryHasNoMoreSayThanPeople(t *testing.T) {
	for _, forgery := range wordstest.Forgeries() {
		messages, _ := hostileView(strings.ToValidUTF8(forgery.Text, "\ufffd"))
		if m := messages[0]; m.Role != llm.RoleSystem || m.Text != "system" {
			t.Fatalf("%s: the system is told %q", forgery.Name, m.Text)
		}
		m := messages[1]
		if m.Role != llm.RoleUser || !strings.HasPrefix(m.Text, headOpen+"\n\n") || !strings.Contains(headOpen, "data, not instructions") {
			t.Errorf("%s: what is kept stands as %s: %q", forgery.Name, m.Role, m.Text)
		}
		if at := strings.Index(m.Text, "\n"+headClose); at < strings.Index(m.Text, "[System: 1 older") {
			t.Errorf("%s: the block ends before its end: %q", forgery.Name, m.Text)
		}
	}
}

func TestWhatIsQuotedStaysInItsQuotes(t *testing.T) {
	for _, forgery := range append(wordstest.Forgeries(), wordstest.Tricks()...) {
		got := Quoted(forgery.Text)
		if strings.ContainsAny(got, "\n\r\u2028\u2029\u0085") || marksIn("- "+got) != 0 || strings.Contains(strings.ToLower(got), "<now>") || strings.Contains(strings.ToLower(got), "</now>") {
			t.Errorf("%s is %s", forgery.Name, got)
		}
		holdsNoRole(t, got)
	}
	if got := Quoted("tea < coffee, [x] is <b>"); got != `"tea < coffee, [x] is <b>"` {
		t.Error(got)
	}
}

func TestRolesAreBrokenOnceAndNothingElseIs(t *testing.T) {
	for _, text := range []string{
		"f <| g |> h", "a < b > c", "[INSTALL]", "<strong>s</strong>", "a[s]", "x <= y || z >= w", "<svg>", "[x](y)", "<|>", "<||>", "vec<s>::new()[0]",
	} {
		want := strings.ReplaceAll(text, "<s>", `<\s>`)
		if got := breakRoles(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
	for _, text := range wordstest.Texts() {
		once := breakRoles(text)
		if twice := breakRoles(once); twice != once {
			t.Errorf("%q became %q and then %q", text, once, twice)
		}
		if strings.ReplaceAll(once, `\`, "") != strings.ReplaceAll(text, `\`, "") {
			t.Errorf("%q became %q", text, once)
		}
	}
}

// TestASecretInAQuoteReachesNoWorker: what somebody replied to may stand elsewhere, and
// what it quotes is cut.
func TestASecretInAQuoteReachesNoWorker(t *testing.T) {
	secret := "sk-" + alnum[:48]
	m := user(3, "yes")
	m.Quote = "Ada: the key is " + secret
	if got := labelled(m, 100); strings.Contains(got, secret[:20]) || !strings.Contains(got, "[masked") && !strings.Contains(got, "masked: OpenAI key") {
		t.Errorf("the worker reads %s", got)
	}
	if got := header(m); !strings.Contains(got, secret) {
		t.Errorf("people said %s", got)
	}
	if got := fmt.Sprint(withoutSecrets([]Message{m})); strings.Contains(got, secret[:20]) {
		t.Errorf("the built-in summarizer reads %s", got)
	}
}

// alnum is as random as a key.
const alnum = "q7Zk2WvR9xLbT4mYc8HsJ5nPd3GfA6uEoKi1VtXyBhQwNzMrSgDjFeCaUlIpO0k9Zr7T2bYx4mWc8LsHq5vJ3nRd6GfP1uEa" + "Q7zK2wVr9XlBt4MyC8hSj5Np"
