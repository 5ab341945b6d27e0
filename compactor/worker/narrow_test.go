package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/compactor/worker"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/transcript"
)

// TestNarrow narrows repairs of turns of two messages, of 50 tokens each.
func TestNarrow(t *testing.T) {
	span := func(_ context.Context, from, to int64) (found []chat.Message, err error) {
		for seq := from; seq <= to; seq++ {
			text := fmt.Sprintf("note-%d %s", seq, strings.Repeat("word ", 20))
			found = append(found, chat.Message{Seq: seq, Turn: (seq-1)/2*2 + 1, Role: llm.RoleUser, Author: "Ada", Text: text})
		}
		return found, nil
	}
	declined := func(times int, by string) transcript.Declined { return transcript.Declined{Times: times, By: by} }
	for name, c := range map[string]struct {
		window   int
		to       int64
		declined transcript.Declined
		from, up int64 // the range in which the row begins
	}{
		"a span that one request can contain stays": {100_000, 200, transcript.Declined{}, 1, 1},
		"of a larger one its newest turns":          {8000, 200, transcript.Declined{}, 81, 161},
		"of a declined one its newer half":          {100_000, 200, declined(1, "test"), 99, 111},
		"not if another model declined it":          {100_000, 200, declined(1, "other"), 1, 1},
		"a declined one that is small stays":        {100_000, 10, declined(2, "test"), 1, 1},
		"of thousands of messages the newest 1000":  {1_000_000, 3000, transcript.Declined{}, 2001, 2001},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, &llmtest.Model{Label: "test", Tokens: c.window})
			a := r.assign
			a.Row = transcript.Summary{Kind: transcript.Leaf, Span: transcript.Span{From: 1, To: c.to}, Messages: int(c.to)}
			a.Repaired = transcript.Summary{ID: 1, Span: a.Row.Span, Declined: c.declined}
			row, err := r.by.Narrow(t.Context(), a, span)
			check.NoError(t, err)
			check.That(t, row.From >= c.from && row.From <= c.up && row.From%2 == 1 && row.To == c.to, "got %d to %d", row.From, row.To)
			check.Equal(t, "messages", row.Messages, int(row.To-row.From+1))
		})
	}
	r := newRig(t, &llmtest.Model{})
	unread := errors.New("the disk fails")
	_, err := r.by.Narrow(t.Context(), worker.Assignment{Row: transcript.Summary{Span: transcript.Span{From: 1, To: 9}}},
		func(context.Context, int64, int64) ([]chat.Message, error) { return nil, unread })
	check.Error(t, err, unread)
}
