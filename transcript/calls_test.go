package transcript

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"

	"pgregory.net/rapid"
)

func calls(ids ...string) chat.Message {
	m := chat.Message{Role: llm.RoleAssistant}
	for _, id := range ids {
		m.Calls = append(m.Calls, llm.Call{ID: id, Name: "look", Arguments: "{}"})
	}
	return m
}

func resultTo(id, text string) chat.Message {
	return chat.Message{Role: llm.RoleTool, CallID: id, Tool: "look", Text: text}
}

func answer(text string) chat.Message { return chat.Message{Role: llm.RoleAssistant, Text: text} }

func asks(text string) chat.Message {
	return chat.Message{Role: llm.RoleUser, Author: "Ada", Text: text}
}

// viewOf numbers messages, each list a turn, and renders them.
func viewOf(turns ...[]chat.Message) (lines []Verbatim, view []llm.Message) {
	seq := int64(0)
	for _, turn := range turns {
		first := seq + 1
		for _, m := range turn {
			seq++
			m.Seq = seq
			m.Turn = first
			lines = append(lines, Show(m, wide))
		}
	}
	return lines, rendered("system", "", lines, "")
}

var wide = Shape{ClipTo: 1 << 20, MaxCopies: 1000, KeepFirst: 1, ResultsKept: 3, ResultMinChars: 100, ResultMaxLines: 50}

// pairs formats the calls and results of a view: "call ab, a=1, b=2". Unusual arguments and native data follow the call.
func pairs(view []llm.Message) string {
	var parts []string
	for _, m := range view {
		switch {
		case m.Role == llm.RoleTool:
			parts = append(parts, m.CallID+"="+m.Text)
		case len(m.Calls) > 0:
			names := ""
			more := string(m.Native)
			for _, c := range m.Calls {
				names = names + c.ID
				more = more + strings.TrimPrefix(c.Arguments, "{}")
			}
			parts = append(parts, strings.TrimSpace("call "+names+" "+more))
		}
	}
	return strings.Join(parts, ", ")
}

func TestEveryResultFollowsItsCall(t *testing.T) {
	nameless := calls("a", "b")
	broken := calls("a")
	native := calls("a")
	nameless.Calls[0].Name = ""
	broken.Calls[0].Arguments = `{"query": "te`
	native.Native = json.RawMessage(`{"reasoning":"I think <so>"}`)
	for _, tt := range []struct {
		claim string
		turns [][]chat.Message
		want  string
	}{
		{"three at once, whose results come in another order", [][]chat.Message{{asks("?"), calls("a", "b", "c"), resultTo("c", "3"), resultTo("a", "1"), resultTo("b", "2"), answer("so")}}, "call abc, a=1, b=2, c=3"},
		{"one that never came is made up", [][]chat.Message{{asks("?"), calls("a", "b"), resultTo("b", "2")}}, "call ab, a=" + noResult + ", b=2"},
		{"the real one wins, and the first of two", [][]chat.Message{{asks("?"), calls("a"), resultTo("a", "1"), resultTo("a", "again")}}, "call a, a=1"},
		{"an id that is used again in another turn keeps its result", [][]chat.Message{{asks("?"), calls("a"), resultTo("a", "1"), answer("so")}, {asks("?"), calls("a"), resultTo("a", "2")}}, "call a, a=1, call a, a=2"},
		{"an id that is used twice at once counts once", [][]chat.Message{{asks("?"), calls("a", "a"), resultTo("a", "1")}}, "call a, a=1"},
		{"a call without an id, or a result without a call, is left out", [][]chat.Message{{asks("?"), calls("", "b"), resultTo("", "1"), resultTo("b", "2"), resultTo("x", "3")}}, "call b, b=2"},
		{"a result at the very beginning is left out", [][]chat.Message{{resultTo("a", "1"), asks("?")}}, ""},
		{"a call without a name is omitted with its result", [][]chat.Message{{asks("?"), nameless, resultTo("a", "1"), resultTo("b", "2")}}, "call b, b=2"},
		{"invalid arguments are sent unchanged", [][]chat.Message{{asks("?"), broken, resultTo("a", "1")}}, `call a {"query": "te, a=1`},
		{"native data is sent back unchanged", [][]chat.Message{{asks("?"), native, resultTo("a", "1")}}, `call a {"reasoning":"I think <so>"}, a=1`},
	} {
		_, view := viewOf(tt.turns...)
		check.Equal(t, tt.claim, pairs(view), tt.want)
	}
	check.That(t, Show(native, wide).As.Tokens > Show(calls("a"), wide).As.Tokens, "native data costs nothing")
	for name, tt := range map[string]struct {
		head, now string
		turns     [][]chat.Message
		want      string
	}{
		"an empty answer is omitted": {"", "", [][]chat.Message{{asks("?"), answer("")}}, "system system, user [#1 … Ada] ?"},
		"the only system message comes first, followed by the head": {
			"<kept>head</kept>", "now",
			[][]chat.Message{{asks("one"), answer("two")}, {asks("three")}},
			"system system, user <kept>head</kept>\n\n[#1 … Ada] one, assistant two, user [#3 … Ada] three\n\n<now>\nnow\n</now>",
		},
		"without messages the head is a user message": {"<kept>head</kept>", "now", nil, "system system, user <kept>head</kept>"},
	} {
		lines, _ := viewOf(tt.turns...)
		var got []string
		for _, m := range rendered("system", tt.head, lines, tt.now) {
			got = append(got, string(m.Role)+" "+m.Text)
		}
		check.Equal(t, name, strings.ReplaceAll(strings.Join(got, ", "), "0001-01-01 00:00", "…"), tt.want)
	}
}

func TestWhichToolResultsAreCleared(t *testing.T) {
	long := strings.Repeat("word ", 100)
	sh := wide
	shown := func(tool, text string) string {
		return Show(chat.Message{Role: llm.RoleTool, Seq: 7, CallID: "a", Tool: tool, Text: text}, sh).result.cleared.Text
	}
	check.Equal(t, "an old result", shown("look", long), "[Previous: used look (#7)]")
	for _, tool := range chat.MemoryTools {
		check.Equal(t, fmt.Sprintf("result of %s", tool), shown(tool, long), long)
	}
	check.Equal(t, "a failure", shown("look", "Error: no such file: tea.txt\n"+long), "[Previous: used look (#7)] Error: no such file: tea.txt")
	check.Lacks(t, "a short result", shown("look", strings.Repeat("x", sh.ResultMinChars-1)), "Previous")
	t.Run("each form is at most as large as the one before", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			sh := Shape{
				ClipTo: rapid.IntRange(0, 400).Draw(rt, "clip"), ResultsKept: rapid.IntRange(0, 5).Draw(rt, "kept"),
				ResultMinChars: rapid.IntRange(0, 200).Draw(rt, "chars"), ResultMaxLines: rapid.IntRange(1, 20).Draw(rt, "lines"),
			}
			text := rapid.StringN(0, 600, -1).Draw(rt, "text")
			r := Show(chat.Message{Role: llm.RoleTool, CallID: "a", Tool: rapid.SampledFrom([]string{"look", "a_tool_with_a_very_long_name_indeed", "recall"}).Draw(rt, "tool"), Text: text}, sh).result
			check.Require(rt, r.brief.Tokens <= r.full.Tokens && r.cleared.Tokens <= r.brief.Tokens, "%+v", r)
			again := Show(chat.Message{Role: llm.RoleTool, CallID: "a", Tool: "look", Text: text}, sh)
			check.Require(rt, again.As.Text == Show(*again.Message, sh).As.Text, "the same message is rendered in two ways")
		})
	})
	t.Run("the newest results stay, the last one whole", func(t *testing.T) {
		tall := strings.Repeat("a line of it\n", 80)
		var turn []chat.Message
		for i := range 6 {
			id := fmt.Sprint(i)
			turn = append(turn, calls(id), resultTo(id, tall+id))
		}
		lines, _ := viewOf(append([]chat.Message{asks("?")}, turn...))
		before := slices.Clone(lines)
		grown := clearResults(lines, lines[len(lines)-1].Seq, 3)
		forms := ""
		freed := 0
		for i, l := range lines {
			freed += before[i].As.Tokens - l.As.Tokens
			switch {
			case l.result == nil:
			case l.As.Text == l.result.cleared.Text:
				forms += "-"
			case l.As.Text == l.result.full.Text:
				forms += "w"
			case strings.Contains(l.As.Text, "30 lines left out") || strings.Contains(l.As.Text, "31 lines left out"):
				forms += "b"
			}
		}
		check.That(t, forms == "---bbw" && freed == -grown && grown < 0, "got shown %s, freed %d, %d", forms, freed, grown)
		for i := range before {
			check.Equal(t, "stored text", before[i].Text, lines[i].Text)
		}
	})
}

func TestShrunkArgumentsAreValid(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		most := rapid.IntRange(minArguments, 300).Draw(rt, "most")
		text := strings.Repeat(rapid.StringN(1, 40, -1).Draw(rt, "text"), rapid.IntRange(1, 200).Draw(rt, "times"))
		arguments := check.Must(json.Marshal(map[string]string{"text": text}))(rt)
		shrunk := shrinkArguments(string(arguments), most)
		cost := tokens.Estimate(shrunk)
		check.Require(rt, cost <= most && json.Valid([]byte(shrunk)), "%d tokens of %d: %s", cost, most, shrunk)
		check.Require(rt, tokens.Estimate(string(arguments)) > most || shrunk == string(arguments), "a message that fits has changed")
	})
}

// rendered returns the messages of renderMessages, with a context after the last user message, and
// adjacent user messages joined as a protocol joins them.
func rendered(system, head string, messages []Verbatim, now string) []llm.Message {
	v := View{HeadText: head, Messages: messages}
	if i := lastOfUser(messages); now != "" && i >= 0 {
		v.contexts = []contextBlock{blockOf(Context{Seq: messages[i].Seq, Text: now})}
	}
	return llmtest.Joined(new(Rendering).Next(system, v))
}
