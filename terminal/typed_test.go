package terminal

import (
	"testing"

	"cairn/internal/check"
)

func TestUnknownCommand(t *testing.T) {
	const typed = "/contxt\n/usr/bin is full\n//contxt\n/quit\nnever read\n"
	s := talk(t, Options{}, typed, echo)
	check.Equal(t, "output", s.out.String(), "you said /usr/bin is full\nyou said /contxt\n")
	check.Contains(t, "the error stream", s.err.String(), "There is no command /contxt, did you mean /context?")
	conversation := check.Must(s.store.Find(t.Context(), "terminal:general"))(t)
	messages := check.Must(conversation.Transcript().Page(t.Context(), 1, 10))(t)
	check.Len(t, "stored messages", messages, 4)
}

// At a terminal "/" lists the commands, so Enter after it asks for them.
func TestSlashAloneIsHelp(t *testing.T) {
	s := talk(t, Options{}, "/\n", echo)
	check.HasPrefix(t, "output", s.out.String(), "/compact [focus] ")
}

func TestUnknownCommandInJSON(t *testing.T) {
	s := talk(t, asJSON, `{"id":"1","text":"/contxt"}`+"\n"+`{"id":"2","text":"//stop"}`+"\n"+`{"id":"3","text":"/quit"}`+"\n", echo)
	errors := s.of(t, "error")
	check.Len(t, "errors", errors, 2)
	check.Contains(t, "first error", errors[0], `"to":["1"]`, "did you mean /context?")
	check.Contains(t, "second error", errors[1], "close the input")
	replies := s.of(t, "reply")
	check.Len(t, "replies", replies, 1)
	check.Contains(t, "first reply", replies[0], "you said /stop")
}
