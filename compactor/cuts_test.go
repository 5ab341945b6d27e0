package compactor

import (
	"fmt"
	"testing"

	"cairn/chat"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/transcript"

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

// linesOfTurns numbers messages, each list a turn.
func linesOfTurns(turns ...[]chat.Message) (lines []transcript.Verbatim) {
	seq := int64(0)
	for _, turn := range turns {
		first := seq + 1
		for _, m := range turn {
			seq++
			m.Seq = seq
			m.Turn = first
			lines = append(lines, transcript.Show(m, wide))
		}
	}
	return lines
}

// viewOf returns a view of messages without a head.
func viewOf(lines []transcript.Verbatim) view {
	return view{View: transcript.View{Messages: lines, MessageCost: transcript.CostOf(lines)}}
}

var wide = transcript.Shape{ClipTo: 1 << 20, MaxCopies: 1000, KeepFirst: 1, ResultsKept: 3, ResultMinChars: 100, ResultMaxLines: 50}

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
		lines := linesOfTurns(all...)
		s := viewOf(lines)
		open := rapid.SampledFrom(lines).Draw(rt, "open").Turn
		if rapid.Bool().Draw(rt, "is open") {
			s.Open = open
		}
		for need := range s.MessageCost + 2 {
			keep := rapid.IntRange(0, len(lines)+1).Draw(rt, "keep")
			tail := rapid.IntRange(0, s.MessageCost).Draw(rt, "tail")
			sp := planSpan(s, need, tailLimits{keep, rapid.IntRange(0, len(lines)+1).Draw(rt, "turns"), tail})
			left := lines[len(sp.messages):]
			check.Require(rt, len(left) == 0 || left[0].Role == llm.RoleUser, "the rest does not start with a user")
			for _, l := range sp.messages {
				check.Require(rt, s.Open == 0 || l.Turn < s.Open, "the cut %d is inside the open turn %d", l.Seq, s.Open)
			}
			calls := 0
			results := 0
			for _, l := range left {
				calls += len(l.Calls)
			}
			for _, m := range new(transcript.Rendering).Next("", viewOf(left).View) {
				if m.Role == llm.RoleTool {
					results++
				}
			}
			check.Require(rt, results == calls, "got %d calls and %d results left", calls, results)
		}
	})
}
