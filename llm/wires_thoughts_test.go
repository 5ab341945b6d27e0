// Thoughts that a model writes in tags before its answer, on every protocol.

package llm_test

import (
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

var thoughts = map[string]struct {
	pieces []string
	text   string
}{
	"a thought":                         {[]string{"<think>They greet me.</think>\n\nHello"}, "Hello"},
	"a thought in pieces":               {[]string{"<thi", "nk>", "They ", "greet</thi", "nking> me.</th", "ink>", "\n", "\n", "Hello", " ", "\n", "there"}, "Hello \nthere"},
	"a thought after white space":       {[]string{"\n", " <thinking>They greet me.</think></thin", "king>", "Hello"}, "\nHello"},
	"only a thought":                    {[]string{"<think>They greet me.", "</think>", "\n"}, ""},
	"an answer about the tag":           {[]string{"Write <think>", "this</think>", " first."}, "Write <think>this</think> first."},
	"an answer that begins like one":    {[]string{"<thi", "s> is no tag"}, "<this> is no tag"},
	"an answer that ends where one may": {[]string{"<", "think"}, "<think"},
}

func TestThoughtInTagsIsNotPartOfTheAnswer(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for name, tt := range thoughts {
			server := w.open(t, func(x *llmtest.Exchange) { x.Say(tt.pieces...) })
			shown := ""
			resp := check.Must(w.model(t, server, openai.Options{}).Generate(t.Context(), hello, func(delta string) { shown += delta }))(t)
			check.Equal(t, name, strings.TrimLeft(resp.Message.Text, "\n"), strings.TrimLeft(tt.text, "\n"))
			check.HasPrefix(t, name, resp.Message.Text, shown)
		}
	})
}

// The templates of some models contain the opening tag, so their servers do not send it.
func TestThoughtWithoutItsOpeningTag(t *testing.T) {
	for text, want := range map[string]string{
		"They greet me.\n</think>\n\nHello":                  "Hello",
		"They greet me.\n</thinking>":                        "",
		"Close it with `</think>`\nand answer.":              "Close it with `</think>`\nand answer.",
		"```\nthought\n</think>\nanswer\n```":                "```\nthought\n</think>\nanswer\n```",
		"It is <think>\nthought\n</think>\nthen the answer.": "It is <think>\nthought\n</think>\nthen the answer.",
	} {
		forEveryProtocol(t, func(t *testing.T, w wire) {
			resp := check.Must(w.ask(t, func(x *llmtest.Exchange) { x.Say(text) }))(t)
			check.Equal(t, text, resp.Message.Text, want)
		})
	}
}

// A model that has only reasoned, up to the limit, gets room immediately, in whatever form it reasons.
// Some servers show nothing of it.
func TestAnswerOfReasoningAloneIsRepeatedWithRoom(t *testing.T) {
	for name, reason := range map[string]func(*llmtest.Exchange){
		"in a field": func(x *llmtest.Exchange) { x.Think("so") },
		"in tags":    func(x *llmtest.Exchange) { x.Piece("<think>so") },
		"hidden":     func(*llmtest.Exchange) {},
	} {
		t.Run(name, func(t *testing.T) {
			forEveryProtocol(t, func(t *testing.T, w wire) {
				server := w.open(t, func(x *llmtest.Exchange) {
					if x.Counted = (llm.Usage{Prompt: 9, Completion: 1}); x.Request.MaxTokens > 100 {
						x.Say("ok")
						return
					}
					reason(x)
					x.Finish(llm.FinishLength)
					x.Done()
				})
				var failed []llm.Usage
				req := llm.Request{Messages: hello.Messages, MaxTokens: 100, Failed: func(u llm.Usage) { failed = append(failed, u) }}
				model := w.model(t, server, openai.Options{})
				for range 2 {
					check.Equal(t, "the reply", check.Must(model.Generate(t.Context(), req, nil))(t).Message.Text, "ok")
				}
				want := []llm.Usage{{Prompt: 9, Completion: 1}}
				if w.name == llm.WireResponses { // where there is always room
					want = nil
				}
				check.EqualAll(t, "the usage of answers without room", failed, want)
			})
		})
	}
}
