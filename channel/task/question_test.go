package task

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

// asker is a turn that asks a question, and notes the briefings that it writes.
type asker struct {
	outdated  bool
	err       error // of a briefing
	briefings []int // tokens of each
}

func (a *asker) Brief(tokens int) (string, error) {
	a.briefings = append(a.briefings, tokens)
	return fmt.Sprint("briefing ", len(a.briefings)), a.err
}

func (a *asker) Outdated() bool {
	outdated := a.outdated
	a.outdated = false
	return outdated
}

func TestQuestion(t *testing.T) {
	lookUp := llmtest.Use(llmtest.Call("1", "recall", map[string]any{"query": "ships"}))
	say := llmtest.Say("Two.")
	tooLong := &llm.Error{Kind: llm.KindOverflow, Message: "too long"}
	noTools := &llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "this model does not support tools"}
	outdated := errors.New("a message is deleted while the model looks something up")
	for claim, c := range map[string]struct {
		answers []any // of the model: responses and errors; the last one again and again
		err     error // of a briefing
		want    string
		asked   []string // of each request: its briefing, how many messages and tools it has
		shares  []int    // of the first briefing: one half, one quarter
	}{
		"the agent may look things up":       {[]any{lookUp, say}, nil, "Two.", []string{"1: 2, 3", "1: 4, 3"}, []int{1}},
		"a deletion makes it start over":     {[]any{lookUp, outdated, say}, nil, "Two.", []string{"1: 2, 3", "1: 4, 3", "2: 2, 3"}, []int{1, 1}},
		"an overflow halves the briefing":    {[]any{tooLong, lookUp, tooLong, say}, nil, "Two.", []string{"1: 2, 3", "2: 2, 3", "2: 4, 3", "3: 2, 3"}, []int{1, 2, 4}},
		"a third overflow ends it":           {[]any{tooLong}, nil, "too long", []string{"1: 2, 3", "2: 2, 3", "3: 2, 3"}, []int{1, 2, 4}},
		"a model may accept no tools":        {[]any{noTools, say}, nil, "Two.", []string{"1: 2, 3", "1: 2, 0"}, []int{1}},
		"without a briefing nobody is asked": {[]any{say}, errors.New("no disk"), "no disk", nil, []int{1}},
		"the last of its eight calls has no tools": {
			[]any{lookUp},
			nil, llm.ErrTooManyCalls.Error(),
			[]string{"1: 2, 3", "1: 4, 3", "1: 6, 3", "1: 8, 3", "1: 10, 3", "1: 12, 3", "1: 14, 3", "1: 16, 0"},
			[]int{1},
		},
	} {
		turn := &asker{err: c.err}
		model := &llmtest.Model{Tokens: 8000, Func: func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
			switch answer := c.answers[min(n, len(c.answers))-1].(type) {
			case llm.Response:
				return answer, nil
			case *llm.Error:
				return llm.Response{}, answer
			}
			turn.outdated = true
			return lookUp, nil
		}}
		records := storetest.NewConversation(t)
		storetest.Deliver(t, records, storetest.Said(1, "two ships"))
		q := Question{
			Asker: turn, Agent: "critic", Model: model, Learned: new(llm.Learned), Prompt: "You count.", MaxOutput: 1000, Records: records, Turn: 2,
		}
		resp, err := q.Loop(t.Context(), nil).Run(t.Context())
		check.Contains(t, claim, fmt.Sprint(resp.Message.Text, err), c.want)
		asked := storetest.Map(model.Requests(), func(req llm.Request) string {
			return fmt.Sprintf("%s: %d, %d", strings.TrimPrefix(req.Messages[1].Text, "briefing "), len(req.Messages), len(req.Tools))
		})
		check.EqualAll(t, claim+": requests", asked, c.asked)
		first := turn.briefings[0]
		check.That(t, first > 3000 && first < 4200, "%s: the first briefing may take %d of 8000 tokens", claim, first)
		shares := storetest.Map(turn.briefings, func(tokens int) int { return first / tokens })
		check.EqualAll(t, claim+": shares of the briefings", shares, c.shares)
	}
}
