// Workers for tests, and their requests.

package compactor_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/llm/llmtest"
)

func wordyWorker(rest string) *llmtest.Model {
	return &llmtest.Model{Func: func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		return summary(fmt.Sprintf("Summary %d. %s", n, rest)), nil
	}}
}

func goodSummary(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
	return summary(fmt.Sprintf("Summary %d of %s, %s.", n, spanOf(req), wordsOf(req))), nil
}

var lastRequest = regexp.MustCompile(`messages #\d+ to #\d+`)

func spanOf(req llm.Request) string {
	text := req.Messages[1].Text
	return lastRequest.FindString(text[max(strings.LastIndex(text, "Sum up messages"), 0):])
}

// wordsOf returns enough words of the span for a valid summary.
func wordsOf(req llm.Request) string {
	material := materialIn(req)
	if strings.Contains(material, `from="Ada"`) {
		return "in Ada's words"
	}
	words := strings.Fields(tags.ReplaceAllString(material, " "))
	return "which say " + strings.Join(words[:min(len(words), 12)], " ")
}

var tags = regexp.MustCompile(`<[^<>]*>`)

// materialIn returns the span in a worker's request, without the text for reference.
func materialIn(req llm.Request) string {
	return textBetween(req.Messages[1].Text, "<transcript>\n", "\n</transcript>")
}

func answers(answer llm.Response, err error) func(context.Context, int, llm.Request) (llm.Response, error) {
	return func(context.Context, int, llm.Request) (llm.Response, error) { return answer, err }
}

var brokenSummaries = answers(llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "overloaded"})

// failing is a worker that fails while down returns true; n counts its requests.
func failing(down func(n int) bool) func(context.Context, int, llm.Request) (llm.Response, error) {
	return func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if down(n) {
			return brokenSummaries(ctx, n, req)
		}
		return goodSummary(ctx, n, req)
	}
}

// withoutTools returns a worker whose server takes no tools, and which answers in text.
func withoutTools(text string) func(context.Context, int, llm.Request) (llm.Response, error) {
	return func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		if len(req.Tools) > 0 {
			return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "this model does not support tools"}
		}
		return llmtest.Say(text), nil
	}
}

func savesMemories(req llm.Request) bool {
	return slices.ContainsFunc(req.Tools, func(tool llm.Tool) bool { return tool.Name == "memory_save" })
}

var errWorker = errors.New("the test's worker fails")

// filler returns a text of about this many tokens, few of them words: only the size of texts matters, and words would take most
// of the time of a test.
func filler(tokens int) string {
	return strings.Repeat("word ", min(tokens, 10)) + strings.Repeat("- ", max(tokens-10, 0))
}

var aContext = regexp.MustCompile(`user\|\|\[\] <now>\n[^<]*\n</now>\n`)

// withoutContexts returns a rendered request without its turn contexts, and their cost.
func withoutContexts(text string) (rest string, n int) {
	return aContext.ReplaceAllStringFunc(text, func(one string) string {
		n += 4 + tokens.Estimate(strings.TrimSuffix(strings.TrimPrefix(one, "user||[] "), "\n"))
		return ""
	}), n
}

func inLines(messages []llm.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s|%s|%v %s\n", m.Role, m.CallID, m.Calls, m.Text)
	}
	return b.String()
}
