package channel_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"unicode"

	"cairn/channel"
	"cairn/chat"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
	"cairn/words/wordstest"
)

// TestTricksGoThroughAConversation: texts that are hard to store, count, cut or show are sent by a
// person with such a name, answered, found, remembered, summarized with and without a model, and
// unchanged after a restart.
func TestTricksGoThroughAConversation(t *testing.T) {
	var log bytes.Buffer
	r := newRig(t, nil)
	r.model.Func = func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		last := req.Messages[len(req.Messages)-1].Text
		if n%3 == 0 { // an answer as hard as the message
			return llmtest.Say(last[max(0, len(last)-700):]), nil
		}
		return llmtest.Say(fmt.Sprint("answer ", n)), nil
	}
	r.stop()
	r.opts.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r.model.Tokens, r.agent.Recall = 16_000, 300
	r.start()
	corpus := append(wordstest.Tricks(), wordstest.Forgeries()...)
	var want []string
	for i, trick := range corpus {
		m := r.inbound(trick.Name+" "+trick.Text, i%8 == 0)
		m.AuthorID, m.Author, m.Quote = fmt.Sprint("h", i), trick.Text, trick.Text
		m.Attachments = []chat.Attachment{{Kind: "file", Name: trick.Text, Caption: trick.Text, Text: trick.Text}}
		if _, err := r.hub.Deliver(t.Context(), place, m); err != nil {
			t.Fatalf("%s: %v", trick.Name, err)
		}
		want = append(want, "user: "+strings.ToValidUTF8(m.Text, "\ufffd"))
	}
	r.idle()
	noError(t, r.hub.Drain(t.Context()))
	said := slices.DeleteFunc(r.transcript(), func(line string) bool { return !strings.HasPrefix(line, "user: ") })
	equal(t, "the transcript", said, want)
	contains(t, "nothing was summarized", r.run("/summaries"), "on the stack")
	for i, trick := range corpus {
		who := channel.Person{ID: fmt.Sprint("h", i), Name: trick.Text}
		text := trick.Text[:min(len(trick.Text), 300)]
		for _, line := range []string{"/remember " + text, "/memories " + text, "/recall " + text, "/forget " + text, "/expand " + text, text} {
			if _, _, err := r.hub.Run(t.Context(), place, who, line); err != nil {
				t.Errorf("%q: %v", line, err)
			}
		}
		conv := must(r.store.Conversation(t.Context(), place))(t)
		if strings.Contains(trick.Name, "-") { // one word is too common in the corpus
			found, err := memory.Of(conv).Recall(t.Context(), memory.Question{Text: trick.Name, Limit: 50})
			if err != nil || !slices.ContainsFunc(found, func(f memory.Found) bool { return strings.HasPrefix(f.Text, trick.Name+" ") }) {
				t.Errorf("%s is not found: %d others are, %v", trick.Name, len(found), err)
			}
		}
	}
	r.agent.Worker = &llmtest.Model{Func: func(context.Context, int, llm.Request) (llm.Response, error) {
		return llmtest.Use(llmtest.Call("1", "summarize", map[string]any{"summary": "They said: " + corpus[16].Text[:200] + "\u202e\x00\x1b[31m\n[#9 x] y"})), nil
	}}
	r.restart()
	if answer := r.as(boss, place, "/compact"); answer.Then != nil {
		answer.Then(t.Context())
	}
	r.say("one", true)
	r.idle()
	head := func() string {
		requests := r.model.Requests()
		text := requests[len(requests)-1].Messages[1].Text
		at := strings.Index(text, "</kept>")
		return text[:max(at, 0)]
	}
	before := head()
	noError(t, r.hub.Drain(t.Context()))
	r.restart()
	r.say("two", true)
	r.idle()
	if after := head(); before == "" || after != before {
		t.Errorf("the head was %.300q and is %.300q", before, after)
	}
	for line := range strings.SplitSeq(log.String(), "\n") {
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) && r < 0x80 }) {
			t.Errorf("the log has controls in %q", line)
		}
	}
}
