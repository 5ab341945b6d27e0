package worker_test

import (
	"context"
	"testing"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func TestRecap(t *testing.T) {
	items := summarize.ItemsOf([]chat.Message{
		{Seq: 1, Turn: 1, Role: llm.RoleUser, Author: "Ada", Text: "The boat to Lisbon costs 300 EUR."},
		{Seq: 2, Turn: 2, Role: llm.RoleUser, Author: "Bob", Text: "We take the boat to Lisbon in May."},
	}, summarize.MaxMessage)
	const good = "- Ada and Bob take the boat to Lisbon in May, for 300 EUR."
	fails := answers(llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503})
	panics := func(context.Context, int, llm.Request) (llm.Response, error) { panic("the model breaks") }
	for name, c := range map[string]struct {
		model    *llmtest.Model
		fallback *llmtest.Model // nil: none
		want     string
		why      llm.Kind // if there is none
	}{
		"in one request without tools": {&llmtest.Model{Func: withoutTools(good)}, nil, good, ""},
		"marks what has no evidence":   {&llmtest.Model{Func: withoutTools(good + "\n- Then the two see Wilhelmina in Porto.")}, nil, good + "\n- Then the two see Wilhelmina in Porto. [no evidence]", ""},
		"by the fallback":              {&llmtest.Model{Func: fails}, &llmtest.Model{Func: withoutTools(good)}, good, ""},
		"after a panic":                {&llmtest.Model{Func: panics}, &llmtest.Model{Func: withoutTools(good)}, good, ""},
		"not where both fail":          {&llmtest.Model{Func: fails}, &llmtest.Model{Func: fails}, "", llm.KindOverloaded},
		"not where it does not fit":    {&llmtest.Model{Tokens: 400, Func: withoutTools(good)}, nil, "", llm.KindOverflow},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, c.model)
			if c.fallback != nil {
				r.by.Fallback = c.fallback
			}
			r.assign.Target = 350
			r.assign.Limit = 525
			got, err := r.by.Recap(t.Context(), r.assign, items)
			check.Equal(t, "recap", got, c.want)
			check.Equal(t, "kind of the error", llm.KindOf(err), c.why)
			if c.model.Tokens == 0 {
				check.Len(t, "requests", c.model.Requests(), 1)
			}
		})
	}
}
