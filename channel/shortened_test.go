package channel_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/llm"
	"cairn/llm/llmtest"
)

func TestAShortenedMessageIsReportedToItsAuthor(t *testing.T) {
	var seen string // the message as the model saw it
	r := newRig(t, func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		for _, m := range req.Messages {
			if strings.Contains(m.Text, "left out …]") {
				seen = m.Text
			}
		}
		return llmtest.Say(fmt.Sprint("answer ", n)), nil
	})
	r.model.Tokens = 4000
	long := strings.Repeat("The tide at the old harbour wall rises twice a day. ", 27_200/52)
	r.say("hello", true)
	r.idle()
	r.say(long, true)
	r.idle()
	r.say("and now?", true)
	r.idle()

	sent := r.connector.sent
	if len(sent) != 4 {
		t.Fatalf("%d pieces were sent: %+v", len(sent), sent)
	}
	notice := sent[1]
	if !notice.Failure || len(notice.To) != 0 {
		t.Errorf("the notice would be taken for the beginning of the answer, or reads as the assistant's words: %+v", notice)
	}
	var first, last, all int
	if _, err := fmt.Sscanf(notice.Text, "(Your message is too long for the model's window: it sees the first %d and the last %d of %d characters. Everything is stored.)",
		&first, &last, &all); err != nil {
		t.Fatalf("the notice is %q: %v", notice.Text, err)
	}
	expect(t, "the notice speaks of characters", all, utf8.RuneCountInString(long))
	if !strings.Contains(seen, long[:first]+"\n[… "+strconv.Itoa(len(long)-first-last)+" characters") || !strings.Contains(seen, "…]\n"+long[len(long)-last:]) {
		t.Errorf("the model saw something else than %s: %.100q", notice.Text, seen)
	}
	contains(t, "/context says", r.run("/context"), "messages  6 in all, 5 of them as they were said, 1 message shown in part")

	r.restart()
	r.say("and after a restart?", true)
	r.idle()
	expect(t, "notices", strings.Count(strings.Join(r.connector.texts(), "\n"), "sees the first"), 1)
}
