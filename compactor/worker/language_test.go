package worker_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// A model that summarizes in another language than the talk is told which one to write. If it writes
// in its own again, a summary whose numbers and citations are right is better than none.
func TestSummaryInAnotherLanguage(t *testing.T) {
	russian := func(i int) string {
		return fmt.Sprintf("Анна: запись %d, сервер переезжает в Казань, порт %d, оплата %d евро до мая", i, 8000+i, 100*i)
	}
	const right = "## Facts\n- Somebody keeps notes about a move: machines leave their present place for a town further east, behind port 8001 (#2).\n" +
		"- Whoever owns them has agreed to send money before spring ends, namely 200 euros for another port (#3).\n- Nothing else was settled about cables, racks, keys, drivers or insurance (#4, #5)."
	const wrong = "## Facts\n- The server moves somewhere else, to another port.\n- Somebody pays a price for it, but nobody knows how much money that is.\n- It was a long talk about machines."
	for _, tools := range []bool{true, false} {
		for name, c := range map[string]struct {
			answer string
			works  bool
		}{
			"right numbers and citations": {right, true},
			"nothing that can be checked": {wrong, false},
		} {
			t.Run(fmt.Sprintf("%s, by a tool: %v", name, tools), func(t *testing.T) {
				r := newRig(t, &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
					if !tools {
						if len(req.Tools) > 0 {
							return withoutTools("")(ctx, n, req)
						}
						return llmtest.Say(c.answer), nil
					}
					return summary(c.answer), nil
				}})
				for i := range 12 {
					r.say(russian(i))
				}
				made, err := r.summarize()
				check.Equal(t, "there is a summary", err == nil, c.works)
				told := ""
				for _, req := range r.asked() {
					for _, m := range req.Messages {
						told += m.Text + "\n"
					}
				}
				check.Contains(t, "what the model is told", told, "the model wrote in English, but the messages are in Russian; write it in Russian")
				if err != nil {
					check.Contains(t, "reason", err.Error(), "wrote in English, but the messages are in Russian")
				} else {
					check.That(t, strings.HasPrefix(made.Text, right), "got %q", made.Text)
				}
			})
		}
	}
}
