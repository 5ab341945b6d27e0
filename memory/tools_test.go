package memory

import (
	"encoding/json"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/llm"
)

func TestASearchStaysInsideItsBudget(t *testing.T) {
	c := newConversation(t)
	var past []Inbound
	for n := range 40 {
		past = append(past, said(n+1, "the lighthouse was painted again, "+strings.Repeat("coat after coat ", 10)))
	}
	if _, err := c.Import(ctx, past); err != nil {
		t.Fatal(err)
	}
	for _, budget := range []int{0, 100, 300, 1000} {
		tools := c.Tools(ToolOptions{Turn: func() int64 { return maxSeq }, Budget: func() int { return budget }})
		text, err := tools[1].Run(ctx, json.RawMessage(`{"query": "lighthouse", "limit": 30}`))
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Messages []struct{ Seq int64 } }
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatalf("budget %d: %v in %s", budget, err, text)
		}
		n, cost := len(answer.Messages), compactor.Estimate(text)
		if n == 0 || n > 1 && cost > budget || n < 30 && n > 1 && cost < budget/2 {
			t.Errorf("a budget of %d gave %d results for %d tokens", budget, n, cost)
		}
	}
}

func TestRecallPutsPeoplesWordsBeforeTheBotsAnswers(t *testing.T) {
	c := newConversation(t)
	deliver(t, c, said(1, "the lighthouse is white"))
	asked := said(2, "what colour is it?")
	asked.Addressed = true
	turn := deliver(t, c, asked)[0].Seq
	answer := compactor.Message{Seq: turn + 1, Turn: turn, Role: llm.RoleAssistant, Text: "the lighthouse: the lighthouse is white", Time: day}
	if err := c.Finish(ctx, Outcome{Turn: turn, Messages: []compactor.Message{answer}, Reply: "r", Pieces: []string{"white"}}); err != nil {
		t.Fatal(err)
	}
	found, err := c.Recall(ctx, Question{Text: "lighthouse", Limit: 2, Before: maxSeq})
	if err != nil || len(found) != 2 || found[0].Role != llm.RoleUser {
		t.Errorf("found %+v, %v", found, err)
	}
}
