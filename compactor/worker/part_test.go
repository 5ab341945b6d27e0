package worker_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// prefills is a model that reads for a while and then writes a summary.
func prefills(reads, beat time.Duration) *llmtest.Model {
	return llmtest.Prefilling(func(llm.Request) time.Duration { return reads }, beat, func(context.Context, int, llm.Request) (llm.Response, error) {
		return summary(whatAdaWrote), nil
	})
}

func TestWorkerWaitsWhileOutputArrives(t *testing.T) {
	for name, c := range map[string]struct {
		model *llmtest.Model
		works bool
		after time.Duration
	}{
		"5 minutes of reading with keep-alives, then a summary":  {prefills(5*time.Minute, 30*time.Second), true, 5 * time.Minute},
		"silence for the timeout":                                {prefills(5*time.Minute, 0), false, 2 * time.Minute},
		"keep-alives for an hour are cut after a quarter of one": {prefills(time.Hour, 30*time.Second), false, 15 * time.Minute},
		"silence after the first words": {&llmtest.Model{Func: func(ctx context.Context, _ int, req llm.Request) (llm.Response, error) {
			time.Sleep(time.Minute)
			req.Alive()
			<-ctx.Done()
			return llm.Response{}, ctx.Err()
		}}, false, 3 * time.Minute},
		"5 minutes of text, a word a second": {&llmtest.Model{Delay: time.Second, Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
			resp := summary("Ada took notes.")
			resp.Message.Text = strings.Repeat("I think. ", 150)
			return resp, nil
		}}, true, 5 * time.Minute},
	} {
		onClock(t, name, func(t *testing.T) {
			r := newRig(t, c.model)
			r.chat(30)
			started := time.Now()
			err := check.ErrorOf(r.summarize())
			took := time.Since(started)
			check.That(t, (err == nil) == c.works && took >= c.after && took <= c.after+10*time.Second,
				"%v after %v, want a summary: %v, after %v", err, took, c.works, c.after)
		})
	}
}

var pasted = regexp.MustCompile(`paste-\d+ `)

// TestLongMessageIsReadInParts: the middle of a long paste is in some request, in order, and the
// notes of all parts are in the summary.
func TestLongMessageIsReadInParts(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 300 {
		fmt.Fprintf(&text, "paste-%d is a line of a long log that Ada pasted here\n", i)
	}
	for _, window := range []int{6000, 100_000} {
		var read []string
		r := newRig(t, &llmtest.Model{Tokens: window, Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
			material := materialIn(req)
			found := pasted.FindAllString(material, -1)
			switch {
			case strings.Contains(material, "<summary "): // what was made of the parts
				return summary("All of them: " + strings.Join(found, "")), nil
			case len(found) == 0:
				return summary("Ada took notes."), nil
			}
			read = append(read, found...)
			return summary("Ada pasted " + found[0] + "and more."), nil
		}})
		r.say(text.String())
		r.chat(20)
		made, err := r.summarize()
		check.NoError(t, err)
		check.Contains(t, "summary", made.Text, "paste-0 ")
		check.Equal(t, "lines read", strings.Join(read, ""), strings.Join(pasted.FindAllString(text.String(), -1), ""))
	}
}

// TestEachChunkSeesPreviousText also checks that a chunk sees the beginning of the next one.
func TestEachChunkSeesPreviousText(t *testing.T) {
	model := &llmtest.Model{Tokens: 6000, Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		return summary(fmt.Sprintf("## Facts\n- part-%d is told: Ada wrote a note, word by word, of the cat Mulligan.", n)), nil
	}}
	r := newRig(t, model)
	r.say("Who feeds the cat Mulligan?")
	r.chat(100)
	r.say("Greta feeds the cat Mulligan.")
	r.chat(4)
	made, err := r.summarize()
	check.Require(t, err == nil && strings.Count(made.Text, "## Facts") == 1, "got %q, %v", made.Text, err)
	requests := model.Requests()
	check.Require(t, len(requests) >= 3, "%d requests", len(requests))
	for i, req := range requests {
		text := req.Messages[1].Text
		check.Equal(t, fmt.Sprintf("request %d: before", i+1), (i > 0), strings.Contains(textBetween(text, "<before note=", "\n</before>"), fmt.Sprintf("part-%d ", i)))
		got := textBetween(text, "<after note=", "\n</after>")
		check.That(t, i > 0 || strings.Contains(got, "Greta feeds"), "request %d: got %q after the span", i+1, got)
	}
}
