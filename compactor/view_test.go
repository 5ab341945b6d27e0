package compactor

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
func viewOf(turns ...[]chat.Message) (lines []line, view []llm.Message) {
	seq := int64(0)
	for _, turn := range turns {
		first := seq + 1
		for _, m := range turn {
			seq++
			m.Seq = seq
			m.Turn = first
			lines = append(lines, lineOf(m, wide))
		}
	}
	return lines, rendered("system", "", lines, "")
}

var wide = shape{clipTo: 1 << 20, maxFirst: 1000, firstKeep: 1, kept: 3, minChars: 100, maxLines: 50}

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
	check.That(t, lineOf(native, wide).tokens > lineOf(calls("a"), wide).tokens, "native data costs nothing")
	check.Lacks(t, "material", materialOf(native, 1000)+materialOf(chat.Message{Role: llm.RoleAssistant, Text: "so", Native: native.Native}, 1000), "I think")
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

// A cut is always between turns: the rest is a view that a strict provider accepts, and calls leave
// with their results and substitutes.
func TestCutsKeepCallsWithResults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var all [][]chat.Message
		for i := range rapid.IntRange(1, 6).Draw(rt, "turns") {
			turn := []chat.Message{asks(fmt.Sprint("question ", i))}
			for range rapid.IntRange(0, 3).Draw(rt, "steps") {
				ids := []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(rt, "calls")]
				turn = append(turn, calls(ids...))
				for _, id := range ids {
					if rapid.IntRange(0, 4).Draw(rt, "lost") > 0 {
						turn = append(turn, resultTo(id, fmt.Sprintf("result of turn %d", i)))
					}
				}
			}
			all = append(all, append(turn, answer("so")))
		}
		lines, _ := viewOf(all...)
		s := view{lines: lines, lineCost: costOf(lines)}
		open := rapid.SampledFrom(lines).Draw(rt, "open").Turn
		if rapid.Bool().Draw(rt, "is open") {
			s.open = open
		}
		for need := range s.lineCost + 2 {
			keep := rapid.IntRange(0, len(lines)+1).Draw(rt, "keep")
			tail := rapid.IntRange(0, s.lineCost).Draw(rt, "tail")
			sp := planSpan(s, need, tailLimits{keep, rapid.IntRange(0, len(lines)+1).Draw(rt, "turns"), tail})
			left := lines[len(sp.lines):]
			check.Require(rt, len(left) == 0 || left[0].Role == llm.RoleUser, "the rest does not start with a user")
			for _, l := range sp.lines {
				check.Require(rt, s.open == 0 || l.Turn < s.open, "the cut %d is inside the open turn %d", l.Seq, s.open)
			}
			calls := 0
			results := 0
			for _, l := range left {
				calls += len(l.Calls)
			}
			for _, m := range rendered("", "", left, "") {
				if m.Role == llm.RoleTool {
					results++
				}
			}
			check.Require(rt, results == calls, "got %d calls and %d results left", calls, results)
		}
	})
}

func TestWhichToolResultsAreCleared(t *testing.T) {
	long := strings.Repeat("word ", 100)
	sh := wide
	shown := func(tool, text string) string {
		return lineOf(chat.Message{Role: llm.RoleTool, Seq: 7, CallID: "a", Tool: tool, Text: text}, sh).result.gone.text
	}
	check.Equal(t, "an old result", shown("look", long), "[Previous: used look (#7)]")
	for _, tool := range chat.MemoryTools {
		check.Equal(t, fmt.Sprintf("result of %s", tool), shown(tool, long), long)
	}
	check.Equal(t, "a failure", shown("look", "Error: no such file: tea.txt\n"+long), "[Previous: used look (#7)] Error: no such file: tea.txt")
	check.Lacks(t, "a short result", shown("look", strings.Repeat("x", sh.minChars-1)), "Previous")
	t.Run("each form is at most as large as the one before", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			sh := shape{
				clipTo: rapid.IntRange(0, 400).Draw(rt, "clip"), kept: rapid.IntRange(0, 5).Draw(rt, "kept"),
				minChars: rapid.IntRange(0, 200).Draw(rt, "chars"), maxLines: rapid.IntRange(1, 20).Draw(rt, "lines"),
			}
			text := rapid.StringN(0, 600, -1).Draw(rt, "text")
			r := lineOf(chat.Message{Role: llm.RoleTool, CallID: "a", Tool: rapid.SampledFrom([]string{"look", "a_tool_with_a_very_long_name_indeed", "recall"}).Draw(rt, "tool"), Text: text}, sh).result
			check.Require(rt, r.brief.tokens <= r.whole.tokens && r.gone.tokens <= r.brief.tokens, "%+v", r)
			again := lineOf(chat.Message{Role: llm.RoleTool, CallID: "a", Tool: "look", Text: text}, sh)
			check.Require(rt, again.text == lineOf(*again.Message, sh).text, "the same message is rendered in two ways")
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
			freed += before[i].tokens - l.tokens
			switch {
			case l.result == nil:
			case l.text == l.result.gone.text:
				forms += "-"
			case l.text == l.result.whole.text:
				forms += "w"
			case strings.Contains(l.text, "30 lines left out") || strings.Contains(l.text, "31 lines left out"):
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
func rendered(system, head string, lines []line, now string) []llm.Message {
	s := view{headText: head, lines: lines}
	if i := lastOfUser(lines); now != "" && i >= 0 {
		s.contexts = []turnContext{contextOf(Context{Seq: lines[i].Seq, Text: now})}
	}
	return joined(new(rendering).next(system, s))
}

func joined(blocks []llm.Message) (messages []llm.Message) {
	for _, b := range blocks {
		if n := len(messages) - 1; n >= 0 && b.Role == llm.RoleUser && messages[n].Role == llm.RoleUser {
			messages[n].Text += "\n\n" + b.Text
			messages[n].Images = slices.Concat(messages[n].Images, b.Images)
			continue
		}
		messages = append(messages, b)
	}
	return messages
}
