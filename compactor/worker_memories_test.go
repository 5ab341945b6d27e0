package compactor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/privacy"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// facts are messages that must be remembered with any worker.
var facts = []string{
	"I moved to Lisbon in March 2024.", "My sister Clara owns a bicycle shop in Faro.", "I am allergic to shellfish.",
	"We decided to sell the red caravan.", "I work as a nurse at the harbour clinic.", "I prefer trains over planes.", "I am allergic to shellfish.",
}

const whatAdaTold = "Ada told of her move to Lisbon, of her sister and of her work."

func memoriesOfFacts(t *testing.T, r *rig) (contents []string) {
	t.Helper()
	for _, fact := range facts {
		r.talk(fact)
	}
	r.chat(20)
	r.applied()
	for _, m := range r.memories("") {
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
		got := strings.Join(memoriesOfFacts(t, newRig(t, 100_000, &llmtest.Model{Func: answer})), "\n")
		check.Contains(t, name+": memories", got, facts...)
	}
	save := llmtest.Call("m", "memory_save", map[string]any{"content": "Ada lives in Lisbon.", "kind": "fact", "messages": []int{1}})
	r := newRig(t, 100_000, &llmtest.Model{Func: answers(llmtest.Use(save, summarizing(whatAdaTold)), nil)})
	check.Len(t, "memories of a worker that saves one", memoriesOfFacts(t, r), 1)
	found := r.memories("")[0]
	check.That(t, found.Speaker == "Ada" && slices.Equal(found.Sources, []int64{1}), "got %+v", found)
}

func summarizing(text string) llm.Call {
	return llmtest.Call("s", "summarize", map[string]string{"summary": text})
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
	good := save("loud", "[3]")
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
		"where all could be read nothing is asked":          {10, []llm.Call{one, save("loud", `["3"]`)}, fails, "calm loud", 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 100_000, &llmtest.Model{Func: func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
				if len(req.Messages) == 2 {
					return llmtest.Use(append(slices.Clone(c.first), summarizing(whatAdaTold))...), nil
				}
				check.Contains(t, "answer", req.Messages[len(req.Messages)-2].Text+req.Messages[len(req.Messages)-3].Text, "Error: ")
				if c.second.Message.Calls == nil {
					return llm.Response{}, errWorker
				}
				return c.second, nil
			}})
			r.policy.MaxTurns = c.turns
			got := memoriesOfFacts(t, r)
			check.Len(t, "calls", r.worker.Requests(), c.calls)
			if c.want != "" { // else the extractive summarizer's
				slices.Sort(got)
				check.Equal(t, "memories", strings.Join(got, " "), adaTold+strings.ReplaceAll(c.want, " ", ". "+adaTold)+".")
			}
		})
	}
}

// A long span is read in several requests; max_memories holds for all of them together, and each may use its part.
func TestMaxMemoriesHoldForAllRequests(t *testing.T) {
	r := newRig(t, 100_000, &llmtest.Model{Tokens: 4000, Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		made, err := goodSummary(ctx, n, req)
		made.Message.Calls = append(saves(req), made.Message.Calls...)
		return made, err
	}})
	r.policy.MaxMemories = 4
	r.chat(160)
	r.compact("")
	found := r.memories("")
	last := int64(0)
	for _, m := range found {
		last = max(last, m.Sources[0])
	}
	n := len(r.worker.Requests())
	check.That(t, n >= 3 && len(found) == 4 && last >= 80, "%d requests saved %d memories, the last of message %d", n, len(found), last)
}

// The worker sees who opted out, and saves no memory of them; neither does the extractive
// summarizer. Summaries still cover their messages.
func TestOptedOutPersonIsInNoMemory(t *testing.T) {
	var refused []string
	for who, model := range map[string]*llmtest.Model{
		"extractive": nil,
		"worker": {Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
			check.Contains(t, "material", req.Messages[1].Text, `from="Ada" user="u1" memories="none">`)
			check.Contains(t, "system prompt", req.Messages[0].Text, `memories="none"`)
			if last := req.Messages[len(req.Messages)-1]; last.Role == llm.RoleTool {
				refused = append(refused, last.Text)
				return summary("Ada decided to buy parrots."), nil
			}
			return llmtest.Use(llmtest.Call("m", "memory_save", map[string]any{"content": "she buys parrots", "kind": "decision", "messages": []int{1}})), nil
		}},
	} {
		r := newRig(t, 6000, model)
		check.NoError(t, check.ErrorOf(privacy.Of(r.conv).OptOut(t.Context(), "u1", "Ada", true)))
		for len(r.c.Status().Stack) == 0 {
			r.deliverNotes(fmt.Sprintf("I decided to buy %d parrots, my name is Ada. %s", len(r.said), filler(60)))
			r.waitIdle()
		}
		check.Equal(t, "memories by the "+who, r.count("SELECT count(*) FROM memories"), 0)
		check.Contains(t, "stack", r.c.Status().Stack[0].Text, "parrots")
		check.That(t, model != nil || r.count("SELECT sum(refused) FROM compactions") == 0, "the extractive summarizer tried to save memories")
	}
	check.That(t, len(refused) > 0 && strings.Contains(refused[0], "wants to be in no memory"), "got reply %q", refused)
}
