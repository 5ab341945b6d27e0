// Thoughts that a model writes in tags before its answer, on every protocol.

package llm_test

import (
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

var thoughts = map[string]struct {
	pieces []string
	text   string
}{
	"a thought":                          {[]string{"<think>They greet me.</think>\n\nHello"}, "Hello"},
	"a thought in pieces":                {[]string{"<thi", "nk>", "They ", "greet</thi", "nking> me.</th", "ink>", "\n", "\n", "Hello", " ", "\n", "there"}, "Hello \nthere"},
	"a thought after white space":        {[]string{"\n", " <thinking>They greet me.</think></thin", "king>", "Hello"}, "\nHello"},
	"a thought that is empty":            {[]string{"<think>\n\n</think>\n\n", "Hello"}, "Hello"},
	"only a thought":                     {[]string{"<think>They greet me.", "</think>", "\n"}, ""},
	"an unfinished thought":              {[]string{"<think>", "They greet", " me.</thi"}, ""},
	"an answer about the tag":            {[]string{"Write <think>", "this</think>", " first."}, "Write <think>this</think> first."},
	"an answer about the tag, then":      {[]string{"<think>Hm.</think>", "<think>", " opens a thought."}, "<think> opens a thought."},
	"an answer that begins like one":     {[]string{"<thi", "s> is no tag"}, "<this> is no tag"},
	"an answer that ends where one may":  {[]string{"<", "think"}, "<think"},
	"an answer that begins with a space": {[]string{" ", "\n", "Hello"}, " \nHello"},
}

func TestThoughtInTagsIsNotPartOfTheAnswer(t *testing.T) {
	for name, tt := range thoughts {
		t.Run(name, func(t *testing.T) {
			forEveryProtocol(t, func(t *testing.T, w wire) {
				server := w.open(t, func(x *llmtest.Exchange) { x.Say(tt.pieces...) })
				var shown strings.Builder
				resp, err := w.model(t, server, openai.Options{}).Generate(t.Context(), hello, func(delta string) { shown.WriteString(delta) })
				check.NoError(t, err)
				check.Equal(t, "text", strings.TrimLeft(resp.Message.Text, "\n"), strings.TrimLeft(tt.text, "\n"))
				check.HasPrefix(t, "text", resp.Message.Text, shown.String())
				check.Lacks(t, "shown text", shown.String(), "greet", "Hm.")
			})
		})
	}
}

// The templates of some models contain the opening tag, so their servers do not send it.
func TestThoughtWithoutItsOpeningTag(t *testing.T) {
	for text, want := range map[string]string{
		"They greet me.\n</think>\n\nHello":                    "Hello",
		"They greet me.</think>\nHello":                        "Hello",
		"</think>\n\nHello":                                    "Hello",
		"They greet me.\n</thinking>":                          "",
		"Close it with `</think>`\nand answer.":                "Close it with `</think>`\nand answer.",
		"Close it with </think> and answer.":                   "Close it with </think> and answer.",
		"```\nthought\n</think>\nanswer\n```":                  "```\nthought\n</think>\nanswer\n```",
		"It is <think>\nthought\n</think>\nthen the answer.":   "It is <think>\nthought\n</think>\nthen the answer.",
		"They greet me.\n</think>\n\nThe tag is\n</think>\nso": "The tag is\n</think>\nso",
	} {
		forEveryProtocol(t, func(t *testing.T, w wire) {
			server := w.open(t, func(x *llmtest.Exchange) { x.Say(text) })
			resp, err := w.model(t, server, openai.Options{}).Generate(t.Context(), hello, nil)
			check.NoError(t, err)
			check.Equal(t, text, resp.Message.Text, want)
		})
	}
}
