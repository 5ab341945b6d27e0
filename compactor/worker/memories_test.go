package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// facts are messages that are worth a memory; who are those of them that are remembered with any worker: of the others so few
// messages have more than extraction keeps.
var facts = []string{
	"I moved to Lisbon in March 2024.", "My sister Clara owns a bicycle shop in Faro.", "I am allergic to shellfish.",
	"We decided to sell the red caravan.", "I work as a nurse at the harbour clinic.", "I prefer trains over planes.", "I am allergic to shellfish.",
}

var who = []string{facts[2], facts[4]}

const whatAdaTold = "Ada told of her move to Lisbon, of her sister and of her work."

func memoriesOfFacts(t *testing.T, r *rig) (contents []string) {
	t.Helper()
	r.say(facts...)
	r.chat(20)
	check.NoError(t, check.ErrorOf(r.summarize()))
	for _, m := range r.memories() {
		contents = append(contents, m.Content)
	}
	return contents
}

func TestWorkerWithoutMemoriesFallsBackToExtraction(t *testing.T) {
	check.SkipUnderRace(t)
	gossip := llmtest.Call("m", "memory_save", map[string]any{"content": "x", "kind": "gossip"})
	for name, answer := range map[string]func(context.Context, int, llm.Request) (llm.Response, error){
		"it only summarizes":           answers(summary(whatAdaTold), nil),
		"it answers in text":           answers(llmtest.Say(whatAdaTold), nil),
		"its server has no tools":      withoutTools(whatAdaTold),
		"what it saves cannot be read": answers(llmtest.Use(gossip, summarizing(whatAdaTold)), nil),
	} {
		got := strings.Join(memoriesOfFacts(t, newRig(t, &llmtest.Model{Func: answer})), "\n")
		check.Contains(t, name+": memories", got, who...)
	}
	save := llmtest.Call("m", "memory_save", map[string]any{"content": "Ada lives in Lisbon.", "kind": "fact", "messages": []int{1}})
	r := newRig(t, &llmtest.Model{Func: answers(llmtest.Use(save, summarizing(whatAdaTold)), nil)})
	check.Len(t, "memories of a worker that saves one", memoriesOfFacts(t, r), 1)
	found := r.memories()[0]
	check.That(t, found.Speaker == "Ada" && slices.Equal(found.Sources, []int64{1}), "got %+v", found)
}

const adaTold = "Ada, of Lisbon and Faro, told "

// TestMemoriesBesideTheSummary: memory_save and summarize in one answer. The model hears once of what could not be read, and corrects it.
func TestMemoriesBesideTheSummary(t *testing.T) {
	t.Parallel()
	save := func(id string, messages string) llm.Call {
		return llm.Call{ID: id, Name: "memory_save", Arguments: fmt.Sprintf(`{"content": "%s%s.", "kind": "fact", "messages": %s}`, adaTold, id, messages)}
	}
	noJSON := llm.Call{ID: "m", Name: "memory_save", Arguments: `{"content": `}
	fails := llm.Response{}
	one := save("calm", `"#1"`)
	bad := save("loud", `"the third"`)
	good := save("loud", "[2]")
	for name, c := range map[string]struct {
		turns  int
		first  []llm.Call
		second llm.Response
		want   string
		calls  int
	}{
		"what could not be read is corrected":               {10, []llm.Call{one, bad}, llmtest.Use(good), "calm loud", 2},
		"arguments that are no JSON are corrected too":      {10, []llm.Call{noJSON}, llmtest.Use(good), "loud", 2},
		"once, not until it is right":                       {10, []llm.Call{one, bad}, llmtest.Use(bad), "calm", 2},
		"where no call is left, what could be read is kept": {1, []llm.Call{one, bad}, fails, "", 1},
		"a model that fails then has handed in its summary": {10, []llm.Call{one, bad}, fails, "calm", 2},
		"where all could be read nothing is asked":          {10, []llm.Call{one, save("loud", `["2"]`)}, fails, "calm loud", 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, &llmtest.Model{Func: func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
				if len(req.Messages) == 2 {
					return llmtest.Use(append(slices.Clone(c.first), summarizing(whatAdaTold))...), nil
				}
				check.Contains(t, "answer", req.Messages[len(req.Messages)-2].Text+req.Messages[len(req.Messages)-3].Text, "Error: ")
				if c.second.Message.Calls == nil {
					return llm.Response{}, errors.New("the model fails")
				}
				return c.second, nil
			}})
			r.assign.MaxCalls = c.turns
			got := memoriesOfFacts(t, r)
			check.Len(t, "calls", r.asked(), c.calls)
			if c.want != "" { // else the extractive summarizer's
				slices.Sort(got)
				check.Equal(t, "memories", strings.Join(got, " "), adaTold+strings.ReplaceAll(c.want, " ", ". "+adaTold)+".")
			}
		})
	}
}

// A long span is read in several requests; max_memories holds for all of them together, and each may use its part.
func TestMaxMemoriesHoldForAllRequests(t *testing.T) {
	r := newRig(t, &llmtest.Model{Tokens: 4000, Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		from, _, _ := spanOf(req)
		if !savesMemories(req) {
			return summary(whatAdaWrote), nil
		}
		return llmtest.Use(saving("m", from, from+1, from+2), summarizing(whatAdaWrote)), nil
	}})
	r.assign.Memories = 4
	r.chat(160)
	check.NoError(t, check.ErrorOf(r.summarize()))
	found := r.memories()
	last := int64(0)
	for _, m := range found {
		last = max(last, m.Sources[0])
	}
	n := len(r.asked())
	check.That(t, n >= 3 && len(found) == 4 && last >= 80, "%d requests saved %d memories, the last of message %d", n, len(found), last)
}
