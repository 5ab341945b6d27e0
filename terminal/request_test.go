package terminal

import (
	"strings"
	"testing"

	"cairn/internal/check"
)

func TestProtocolRefusals(t *testing.T) {
	for _, test := range []struct{ name, line, want string }{
		{"no JSON", `hello`, `"channel":"general","to":[],"text":"line 1: invalid character 'h'`},
		{"half an object", `{"text":"a`, `"text":"line 1: unexpected EOF"`},
		{"a list", `[1]`, `a value of type array is not accepted`},
		{"two objects", `{"text":"a"}{"text":"b"}`, `there is text after the JSON object`},
		{"no text", `{"id":"7","channel":"c"}`, `"channel":"c","to":["7"],"text":"line 1: text is missing or empty"`},
		{"an unknown key", `{"text":"a","colour":1,"id":"7"}`, `"to":["7"],"text":"line 1: unknown field \"colour\""`},
		{"a wrong type", `{"text":1,"id":"7"}`, `"to":["7"],"text":"line 1: a value of type number is not accepted for \"text\""`},
		{"no time", `{"text":"a","time":"yesterday"}`, `parsing time`},
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
