package llmtest_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

func TestModelShowsItsWordsOneByOneInItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &llmtest.Model{Tokens: 4000, Delay: time.Hour, Func: func(context.Context, int, llm.Request) (llm.Response, error) {
			return llmtest.Say("one two three"), nil
		}}
		var shown []string
		begun := time.Now()
		resp, err := model.Generate(t.Context(), llm.Request{}, func(delta string) { shown = append(shown, delta) })
		if err != nil || strings.Join(shown, "|") != "one |two |three" || resp.Message.Text != "one two three" {
			t.Errorf("got %q, %v", shown, err)
		}
		check.Equal(t, "it took", time.Since(begun), 3*time.Hour)
		check.Equal(t, "the window", model.Window(t.Context()).Tokens, 4000)
		check.Equal(t, "requests", len(model.Requests()), 1)
	})
}

func TestModelStopsWhenItIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &llmtest.Model{Delay: time.Hour, Func: func(context.Context, int, llm.Request) (llm.Response, error) {
			return llmtest.Say("never"), nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := model.Generate(ctx, llm.Request{}, nil); err != context.DeadlineExceeded {
			t.Errorf("got %v", err)
		}
	})
}

func TestModelWithoutAScriptFails(t *testing.T) {
	if _, err := new(llmtest.Model).Generate(t.Context(), llm.Request{}, nil); err == nil {
		t.Error("it answered")
	}
}
