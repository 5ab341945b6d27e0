package terminal

import (
	"strings"
	"testing"

	"cairn/internal/check"
)

func TestUnknownCommand(t *testing.T) {
	const typed = "/contxt\n/usr/bin is full\n//contxt\n/quit\nnever read\n"
	s := talk(t, Options{}, typed, echo)
	if got, want := s.out.String(), "you said /usr/bin is full\nyou said /contxt\n"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}
	if !strings.Contains(s.err.String(), "There is no command /contxt, did you mean /context?") {
		t.Errorf("on the error stream: %q", s.err)
	}
	conversation := check.Must(s.store.Find(t.Context(), "terminal:general"))(t)
	messages, err := conversation.Transcript().Page(t.Context(), 1, 10)
	if err != nil || len(messages) != 4 {
		t.Errorf("%d messages were stored, want 4: %v", len(messages), err)
	}
}

func TestUnknownCommandInJSON(t *testing.T) {
	s := talk(t, asJSON, `{"id":"1","text":"/contxt"}`+"\n"+`{"id":"2","text":"//stop"}`+"\n"+`{"id":"3","text":"/quit"}`+"\n", echo)
	errors := s.of(t, "error")
	if len(errors) != 2 || !strings.Contains(errors[0], `"to":["1"]`) || !strings.Contains(errors[0], "did you mean /context?") ||
		!strings.Contains(errors[1], "close the input") {
		t.Errorf("errors %q", errors)
	}
	if replies := s.of(t, "reply"); len(replies) != 1 || !strings.Contains(replies[0], "you said /stop") {
		t.Errorf("replies %q", replies)
	}
}
