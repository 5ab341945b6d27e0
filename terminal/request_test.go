package terminal

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"cairn/channel/channeltest"
	"cairn/internal/check"
)

func TestProtocolRefusals(t *testing.T) {
	for _, test := range []struct{ name, line, want string }{
		{"no JSON", `hello`, `"channel":"general","to":[],"text":"line 1: invalid character 'h'`},
		{"half an object", `{"text":"a`, `"text":"line 1: unexpected EOF"`},
		{"a list", `[1]`, `a line must be one JSON object`},
		{"two objects", `{"text":"a"}{"text":"b"}`, `there is text after the JSON object`},
		{"no text", `{"id":"7","channel":"c"}`, `"channel":"c","to":["7"],"text":"line 1: text is missing or empty"`},
		{"an unknown key", `{"text":"a","colour":1,"id":"7"}`, `"to":["7"],"text":"line 1: unknown field \"colour\""`},
		{"a wrong type", `{"text":1,"id":"7"}`, `"to":["7"],"text":"line 1: a value of type number is not accepted for \"text\""`},
		{"no time", `{"text":"a","time":"yesterday","id":"7","channel":"c"}`, `"channel":"c","to":["7"],"text":"line 1: time must be a text like 2026-01-31T15:04:05Z"`},
		{"a time that is a number", `{"time":5,"id":"7"}`, `"to":["7"],"text":"line 1: a value of type number is not accepted for \"time\""`},
		{"a time nobody lives in", `{"text":"a","time":"0001-01-01T00:00:00Z"}`, `time must lie between`},
		{"an id that is half a letter", `{"text":"a","id":"x\ud800"}`, `id must be valid UTF-8`},
		{"an id of bytes that are no text", `{"text":"a","id":"x` + "\xff" + `"}`, `id must be valid UTF-8`},
		{"the name of a task", `{"text":"a","user":"task: researcher (task 1)"}`, `the name of the user must not begin with \"task:\"`},
		{"an id of Cairn's own", `{"text":"a","id":"cairn:task-1"}`, `id must not begin with \"cairn:\"`},
		{"a channel that cannot be named", `{"text":"a","channel":"a\nb"}`, `the name of the channel`},
		{"a user that cannot be named", `{"text":"a","user":"\u001b"}`, `the name of the user`},
		{"an id that is too long", `{"text":"a","id":"` + strings.Repeat("i", 101) + `"}`, `line 1: id has more than 100 bytes`},
		{"a line that is too long", `{"text":"` + strings.Repeat("a", maxLine) + `"}`, `"channel":"general","to":[],"text":"line 1: a line of more than 4 MB`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := talk(t, asJSON, test.line+"\n\n"+`{"text":"after","id":"z"}`+"\n", echo)
			got := s.of(t, "error")
			check.Len(t, "result", got, 1)
			check.Contains(t, "got[0]", got[0], test.want)
			accepted := s.of(t, "accepted")
			check.Len(t, "accepted", accepted, 1)
			check.Contains(t, "first accepted event", accepted[0], `"id":"z","seq":1`)
			check.Equal(t, "the run did not continue", len(s.of(t, "reply")), 1)
		})
	}
}

func TestProtocolApproval(t *testing.T) {
	read, write := io.Pipe()
	s := open(t, Options{JSON: true, In: read}, channeltest.Add)
	ended := make(chan error, 1)
	go func() { ended <- s.connector.Run(t.Context(), s.hub, s.log) }()
	check.Must(io.WriteString(write, `{"text":"please add","id":"1"}`+"\n"))(t)
	s.out.wait(t, `"buttons":[{"label":"Allow","line":"/allow `)
	_, line, _ := strings.Cut(s.out.String(), `"line":"`)
	line, _, _ = strings.Cut(line, `"`)
	check.Must(io.WriteString(write, fmt.Sprintf(`{"text":%q,"id":"2"}`, line)+"\n"))(t)
	s.out.wait(t, "The tool says: five")
	check.Must(io.WriteString(write, `{"text":"please add","id":"3"}`+"\n"))(t)
	s.out.wait(t, `"id":"3","seq":`)
	if !check.Soon(func() bool { return len(s.hub.Operator().Approvals("terminal:general")) == 1 }) {
		t.Fatal("no second question")
	}
	check.NoError(t, write.Close()) // no one can answer any more
	select {
	case err := <-ended:
		check.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("the run waits for an answer")
	}
	check.Contains(t, "output", s.out.String(), "there is no one to ask here")
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
