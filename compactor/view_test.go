package compactor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/tokens"
	"cairn/llm"
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
			m.Seq, m.Turn = seq, first
			lines = append(lines, lineOf(m, wide))
		}
	}
	return lines, rendered("system", "", lines, "")
}

var wide = shape{clipTo: 1 << 20, maxFirst: 1000, firstKeep: 1, kept: 3, minChars: 100, maxLines: 50}

// pairs formats the calls and results of a view: "a b | a=1 b=2".
func pairs(view []llm.Message) string {
	var parts []string
	for _, m := range view {
		switch {
		case m.Role == llm.RoleTool:
			parts = append(parts, m.CallID+"="+m.Text)
		case len(m.Calls) > 0:
			names := ""
			for _, c := range m.Calls {
				names += c.ID
			}
			parts = append(parts, "call "+names)
		}
	}
	return strings.Join(parts, ", ")
}

func TestEveryResultFollowsItsCall(t *testing.T) {
	missing := noResult
	for _, tt := range []struct {
		claim string
		turns [][]chat.Message
		want  string
	}{
		{"three at once, whose results come in another order", [][]chat.Message{{asks("?"), calls("a", "b", "c"), resultTo("c", "3"), resultTo("a", "1"), resultTo("b", "2"), answer("so")}}, "call abc, a=1, b=2, c=3"},
		{"one that never came is made up", [][]chat.Message{{asks("?"), calls("a", "b"), resultTo("b", "2")}}, "call ab, a=" + missing + ", b=2"},
		{"the real one wins, and the first of two", [][]chat.Message{{asks("?"), calls("a"), resultTo("a", "1"), resultTo("a", "again")}}, "call a, a=1"},
		{"an id that is used again in another turn keeps its result", [][]chat.Message{{asks("?"), calls("a"), resultTo("a", "1"), answer("so")}, {asks("?"), calls("a"), resultTo("a", "2")}}, "call a, a=1, call a, a=2"},
		{"an id that is used twice at once counts once", [][]chat.Message{{asks("?"), calls("a", "a"), resultTo("a", "1")}}, "call a, a=1"},
		{"a call without an id, or a result without a call, is left out", [][]chat.Message{{asks("?"), calls("", "b"), resultTo("", "1"), resultTo("b", "2"), resultTo("x", "3")}}, "call b, b=2"},
		{"a result at the very beginning is left out", [][]chat.Message{{resultTo("a", "1"), asks("?")}}, ""},
	} {
		t.Run(tt.claim, func(t *testing.T) {
			_, view := viewOf(tt.turns...)
			check.Equal(t, "view", pairs(view), tt.want)
		})
	}
	t.Run("a call without a name is omitted with its result", func(t *testing.T) {
		m := calls("a", "b")
		m.Calls[0].Name = ""
		_, view := viewOf([]chat.Message{asks("?"), m, resultTo("a", "1"), resultTo("b", "2")})
		check.Equal(t, "view", pairs(view), "call b, b=2")
	})
	t.Run("an empty answer is omitted", func(t *testing.T) {
		_, view := viewOf([]chat.Message{asks("?"), answer("")})
		check.Len(t, "view", view, 2)
		check.Equal(t, "role", view[1].Role, llm.RoleUser)
	})
	t.Run("invalid JSON arguments are sent unchanged", func(t *testing.T) {
		m := calls("a")
		m.Calls[0].Arguments = `{"query": "te`
		_, view := viewOf([]chat.Message{asks("?"), m, resultTo("a", "1")})
		check.Equal(t, "view", pairs(view), "call a, a=1")
		check.Equal(t, "arguments", view[2].Calls[0].Arguments, `{"query": "te`)
	})
	t.Run("native provider data is sent back unchanged", func(t *testing.T) {
		m := calls("a")
		m.Native = json.RawMessage(`{"reasoning":"I think <so>"}`)
		lines, view := viewOf([]chat.Message{asks("?"), m, resultTo("a", "1")})
		if string(view[2].Native) != string(m.Native) || lines[1].tokens <= lineOf(calls("a"), wide).tokens {
			t.Errorf("got view %+v", view)
		}
	})
	t.Run("no summarizer reads native data", func(t *testing.T) {
		m := answer("so")
		m.Native = json.RawMessage(`{"reasoning":"I think"}`)
		text := summarize.PlainText(summarize.ItemsOf([]chat.Message{m}, 1000))
		check.Lacks(t, "material", text, "I think")
		check.Contains(t, "material", text, "so")
	})
	t.Run("the only system message comes first, followed by the head", func(t *testing.T) {
		lines, _ := viewOf([]chat.Message{asks("one"), answer("two")}, []chat.Message{asks("three")})
		view := rendered("system", "<kept>head</kept>", lines, "now")
		if len(view) != 4 || view[0].Role != llm.RoleSystem || !strings.HasPrefix(view[1].Text, "<kept>head") || !strings.HasSuffix(view[3].Text, "<now>\nnow\n</now>") {
			t.Errorf("got view %+v", view)
		}
	})
	t.Run("without messages the head is a user message", func(t *testing.T) {
		view := rendered("system", "<kept>head</kept>", nil, "")
		check.Len(t, "view", view, 2)
		check.Equal(t, "rendered(\"system\", \"<kept>head</kept>\", nil, \"\")[1].Role", view[1].Role, llm.RoleUser)
	})
}

// A cut is always between turns: the rest is a view that a strict provider accepts, and calls leave
// with their results and substitutes.
func TestCutsKeepCallsWithResults(t *testing.T) {
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
		s := view{lines: lines}
		for _, l := range lines {
			s.lineCost += l.tokens
		}
		open := rapid.SampledFrom(lines).Draw(rt, "open").Turn
		if rapid.Bool().Draw(rt, "is open") {
			s.open = open
		}
		for need := range s.lineCost + 2 {
			keep, tail := rapid.IntRange(0, len(lines)+1).Draw(rt, "keep"), rapid.IntRange(0, s.lineCost).Draw(rt, "tail")
			sp := planSpan(s, need, spared{keep, rapid.IntRange(0, len(lines)+1).Draw(rt, "turns"), tail})
			left := lines[len(sp.lines):]
			if len(left) > 0 && left[0].Role != llm.RoleUser {
				rt.Fatalf("the rest starts with a %s", left[0].Role)
			}
			for _, l := range sp.lines {
				if s.open != 0 && l.Turn >= s.open {
					rt.Fatalf("the cut %[2]d is inside the open turn %[1]d", s.open, l.Seq)
				}
			}
			calls := 0
			for _, l := range left {
				calls += len(l.Calls)
			}
			results := 0
			for _, m := range rendered("", "", left, "") {
				if m.Role == llm.RoleTool {
					results++
				}
			}
			if results != calls {
				rt.Fatalf("got %d calls and %d results left", calls, results)
			}
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
			if r.brief.tokens > r.whole.tokens || r.gone.tokens > r.brief.tokens {
				rt.Fatalf("%+v", r)
			}
			if again := lineOf(chat.Message{Role: llm.RoleTool, CallID: "a", Tool: "look", Text: text}, sh); again.text != lineOf(*again.Message, sh).text {
				rt.Fatal("the same message is rendered in two ways")
			}
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
		forms, freed := "", 0
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
		arguments, err := json.Marshal(map[string]string{"text": text})
		check.NoError(rt, err)
		shrunk := shrinkArguments(string(arguments), most)
		if cost := tokens.Estimate(shrunk); cost > most || !json.Valid([]byte(shrunk)) {
			rt.Fatalf("%d tokens of %d: %s", cost, most, shrunk)
		}
		if tokens.Estimate(string(arguments)) <= most && shrunk != string(arguments) {
			rt.Fatal("a message that fits has changed")
		}
	})
}
