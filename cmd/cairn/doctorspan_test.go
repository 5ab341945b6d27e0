package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/testkit/llmtest"
)

// fairSummary is a good summary of the known span.
const fairSummary = `## Goals
- Ilya gets an offer for the insurance of the stage by 20 August (#26).
## Decisions
- Ada decided that the fair is on Saturday 12 September (#8).
- The fair is in Mill Hall for 480 euro, because the school gym has no kitchen (#12, #14).
- The Copper Foxes play for two hours, for 300 euro (#17, #18).
## People
- Tessa Brandt lives at number 9 and has the key to Mill Hall (#14).
- Ben is allergic to walnuts (#19).
## Facts
- The school lends 60 chairs, which Ilya fetches with the van on Friday (#22).
- The bridge at the mill is closed until October, so people come by tram: line 14 stops at the church (#23, #24).`

// ofKnownSpan reports whether a request is about the known span.
func ofKnownSpan(x *llmtest.Exchange) bool {
	return slices.ContainsFunc(x.Request.Messages, func(m llmtest.Message) bool { return strings.Contains(m.Text(), "Copper Foxes") })
}

// summarizing is a model that summarizes the known span well, and does everything else as a script has it.
func summarizing(script func(x *llmtest.Exchange)) func(x *llmtest.Exchange) {
	return func(x *llmtest.Exchange) {
		switch {
		case !ofKnownSpan(x):
			script(x)
		case isWorker(x):
			x.Use("c1", "summarize", summaryJSON(fairSummary))
		default:
			x.Say(fairSummary)
		}
	}
}

func summaryJSON(text string) string {
	encoded, _ := json.Marshal(map[string]string{"summary": text}) // a string can always be encoded
	return string(encoded)
}

func TestDoctorTriesTheSummarizer(t *testing.T) {
	lines := strings.Split(fairSummary, "\n")
	without := func(words ...string) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
			return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(line, word) })
		}), "\n")
	}
	memory := llm.Call{ID: "c0", Name: "memory_save", Arguments: `{"memories":[{"content":"Ben is allergic to walnuts","kind":"identity","about":"Ben","importance":0.9,"messages":[19]}]}`}
	for name, c := range map[string]struct {
		summary string
		memory  bool
		code    int
		want    []string
	}{
		"a good one": {fairSummary, false, 0, []string{
			"ok     worker    m, which summarizes for agent cairn: good enough: it summarized a known conversation of 28 messages in ",
			"; 1 request, ", "known facts kept: 9 of 9; lines that rest on messages: 8 of 8; 0 memories saved\n",
		}},
		"one whose memory has what its summary lacks": {without("walnuts"), true, 0, []string{"known facts kept: 9 of 9;", "; 1 memory saved\n"}},
		"one that forgets": {without("Copper", "480", "chairs", "bridge"), false, exitFailed, []string{
			"WRONG  worker    m, which summarizes for agent cairn: not good enough: ",
			"known facts kept: 5 of 9, without the price of the hall, the band, the borrowed chairs, how people come; ",
			"name a larger model under [defaults.compaction] model",
		}},
		"one that invents": {fairSummary + "\n- Ada decided that the fair is on Sunday 20 October (#8).\n- Tessa Brandt wants 900 euro (#14).\n- Ben lives in Lisbon since 1987 (#19).\n- Ilya drives to Oslo on 3 January 2031 (#22).\n- Mara sold 77 violins to Norway (#20).", false, exitFailed, []string{
			"not good enough: ", "lines that rest on messages: 8 of 1",
		}},
		"one about something else": {"The weather in Reykjavik was stormy, and the ferry to Akranes did not sail for three days.", false, exitFailed, []string{
			"not good enough: its summary of a known conversation was refused: the model's answer says hardly anything about the messages",
		}},
		"one that declines": {"I'm sorry, but I can't help with summarizing this conversation.", false, exitFailed, []string{"not good enough: its summary of a known conversation was refused: the model declined to summarize"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := modelServer(t, func(x *llmtest.Exchange) {
				switch {
				case !ofKnownSpan(x):
					x.Say("yes")
				case c.memory && len(toolResults(x)) == 0:
					x.UseAll(memory)
				default:
					x.Use("c1", "summarize", summaryJSON(c.summary))
				}
			})
			newFolder(t, modelAt(server)...).doctorSays(c.code, c.want...)
		})
	}
}

// toolResults returns the results of tools in a request.
func toolResults(x *llmtest.Exchange) (results []llmtest.Message) {
	return slices.DeleteFunc(slices.Clone(x.Request.Messages), func(m llmtest.Message) bool { return m.Role != llm.RoleTool })
}
