// Canvases are read as text.

package slack

import (
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/testkit/check"
	"cairn/testkit/slacktest"
	"cairn/testkit/wordstest"
)

// plan is a canvas in the form in which Slack serves it, and planText what is read of it.
const (
	plan = `<div class="quip-canvas-content"><h1 id="temp:C:a">Launch plan</h1><p id="temp:C:b" class="line">We ship on <b>Friday</b>, says <a>@UANN000001</a>.<br/>Not &lt;later&gt;.</p>
<ul><li>pack</li><li><p class="line">test</p><ul><li>again</li></ul></li></ul><ol><li>go</li><li>rest</li></ol><h2>Costs</h2>
<table><tr><td><p class="line">pens</p></td><td><p class="line">3 EUR</p></td></tr><tr><td><p class="line">ink</p></td><td><p class="line">9 EUR</p></td></tr></table>
<blockquote>as Bob said</blockquote><pre>make all
  make test</pre><p class="line">see <a href="https://x.dev/doc">the page</a>, <a href="https://x.dev">https://x.dev/</a> <control><img alt="wave"></img></control><img src="x.png" alt="a map"></p><script>alert(1)</script></div>`
	planText = "# Launch plan\n\nWe ship on **Friday**, says @ann.  \nNot &lt;later&gt;.\n\n- pack\n- test\n  \n  - again\n\n1. go\n2. rest\n\n" +
		"## Costs\n\n|      |       |\n|------|-------|\n| pens | 3 EUR |\n| ink  | 9 EUR |\n\n> as Bob said\n\n```\nmake all\n  make test\n```\n\n" +
		"see [the page](https://x.dev/doc), [https://x.dev/](https://x.dev) :wave:[image: a map]"
)

func TestACanvasBecomesMarkdown(t *testing.T) {
	s := knowing(t)
	s.names.set("UANN000001", "ann")
	check.Equal(t, "the text", s.names.fileText(canvasType, plan), planText)
	for _, page := range []string{"", "<!DOCTYPE html><title>Sign in</title>", "no html"} {
		check.Equal(t, page, s.names.fileText(canvasType, page), "")
	}
	check.Equal(t, "another file", s.names.fileText("text/html", "<p>x"), "<p>x")
}

func TestASharedCanvasIsRead(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	r.opts.AttachmentTokens = 1000
	r.begin()
	content := `<div class="quip-canvas-content"><h1>Plan</h1><p class="line">We ship on Friday.</p></div>`
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "look", Files: []slacktest.File{
		{Name: "Plan", Mimetype: canvasType, Content: []byte(content)},
	}})
	r.awaitAnswers(general, 1)
	got := r.Transcript(conversation(general))[0].Attachments
	check.Len(t, "files", got, 1)
	check.That(t, got[0].Kind == "canvas" && got[0].Name == "Plan" && got[0].Text == "# Plan\n\nWe ship on Friday.", "what is read: %+v", got[0])
}

func FuzzCanvas(f *testing.F) {
	f.Add(plan)
	f.Add(`<div class="quip-canvas-content">` + strings.Repeat("<ul><li><blockquote>", 1000) + "x")
	for _, text := range wordstest.Texts() {
		f.Add(`<div class="quip-canvas-content"><p>` + text + `</p><a href="` + text + `">` + text + `</a><img alt="` + text + `"></div>`)
	}
	s := knowing(f)
	f.Fuzz(func(t *testing.T, content string) {
		text := s.names.fileText(canvasType, content)
		check.That(t, !utf8.ValidString(content) || utf8.ValidString(text), "%q is read as %q", content, text)
	})
}
