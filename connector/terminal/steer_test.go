package terminal

import (
	"context"
	"fmt"
	"io"
	"testing"

	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func TestSteerReachesTheRunningAnswer(t *testing.T) {
	t.Parallel()
	in, write := io.Pipe()
	var s *session
	s = open(t, Options{In: in, JSON: true}, scripted(func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		if n > 1 {
			return llmtest.Say("you said " + req.Messages[len(req.Messages)-1].Text), nil
		}
		_, _ = io.WriteString(write, jsonLines(`{"text":"/steer in French","id":"2","user":"bo"}`))
		s.out.wait(t, `"id":"2","seq":0`)
		return llmtest.Use(llmtest.Call("1", "recall", map[string]any{"query": "tea"})), nil
	}))
	go func() {
		_, _ = io.WriteString(write, jsonLines(`{"text":"what is tea?","id":"1"}`))
		s.out.wait(t, `"type":"reply"`)
		_ = write.Close()
	}()
	check.NoError(t, s.run(t))
	check.Contains(t, "the reply", s.of(t, 1, "reply")[0], `"to":["1"]`, "bo] in French")
	check.EqualAll(t, "accepted", s.numbered(t), []string{
		`{"type":"accepted","channel":"general","id":"1","seq":1}`, fmt.Sprintf(`{"type":"accepted","channel":"general","id":"2","seq":%d}`, 4),
	})
}
