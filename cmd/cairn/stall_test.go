package main

import (
	"fmt"
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func TestStalledAnswerIsKeptAfterStreamIdle(t *testing.T) {
	server := modelServer(t, func(x *llmtest.Exchange) {
		if isStartCheck(x.Request) {
			x.Say("Yes.")
			return
		}
		x.Piece("Half of it")
		x.Wait(time.Hour)
	})
	p := newFolder(t).with(fmt.Sprintf("[llm]\nbase_url = %q\nmodel = \"m\"\nstream_idle = \"1s\"\n", server.URL))
	check.Contains(t, "answer", p.must("hello\n", "chat"), "Half of it", "(My answer broke off here:")
}
