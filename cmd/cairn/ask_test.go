package main

import (
	"strings"
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func TestAsk(t *testing.T) {
	script := func(x *llmtest.Exchange) {
		switch asked := x.Request.Last().Text(); {
		case strings.Contains(asked, "fail"):
			failing["a wrong key"].do(x)
		case strings.Contains(asked, "silent"):
			x.Say("")
		default:
			x.Say("**At nine.**")
		}
	}
	p := newFolder(t, modelAt(llmtest.Serve(t, script))...)
	for _, c := range []struct {
		words, input, out, err string
		code                   int
	}{
		{words: "When do we|meet?", out: "**At nine.**\n"},
		{words: "What is this?|-", input: "\ufeffline one\n\nline two\n", out: "**At nine.**\n"},
		{words: "silent", err: "cairn: The model gave no answer.", code: exitFailed},
		{words: "fail", err: "cairn: The model's server rejects my API key", code: exitFailed},
		{words: "/contxt", err: "cairn: There is no command /contxt", code: exitFailed},
		{words: "/pin 999999", err: "cairn: ", code: exitFailed},
		{words: " ", err: "cairn: the question is empty", code: exitUsage},
		{words: "-", err: "cairn: the question is empty", code: exitUsage},
		{words: "--channel||hello", err: "cairn: the name of the channel is empty", code: exitUsage},
	} {
		r := p.run(c.input, append([]string{"ask"}, strings.Split(c.words, "|")...)...)
		check.Equal(t, c.words+": exit code", r.code, c.code)
		check.Equal(t, c.words+": output", r.out, c.out)
		check.That(t, strings.HasPrefix(r.err, c.err) && (c.err != "") == (r.err != ""), "%s: errors: got %q, want %q", c.words, r.err, c.err)
	}
	check.Contains(t, "what is stored", p.must("", "transcript"), "When do we meet?", "What is this?", "line one\n", "fail", "silent")
	p.must("/pause\n", "chat")
	r := p.run("", "ask", "hello")
	check.Equal(t, "exit code of a paused bot", r.code, exitFailed)
	check.Contains(t, "why", r.err, "I am still paused here")
}
