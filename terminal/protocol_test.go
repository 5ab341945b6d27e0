package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
)

func person(name string) channel.Person { return channel.Person{ID: name, Name: name} }

var asJSON = Options{JSON: true}

// of returns the output's lines of one type.
func (s *session) of(t *testing.T, kind string) (lines []string) {
	t.Helper()
	for line := range strings.Lines(s.out.String()) {
		var head struct{ Type string }
		if err := json.Unmarshal([]byte(line), &head); err != nil {
			t.Errorf("a line that is no JSON: %q", line)
		}
		if head.Type == kind {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

func TestProtocol(t *testing.T) {
	t.Run("a message is accepted and answered, keys in their order", func(t *testing.T) {
		s := talk(t, asJSON, `{"text":"<hello>","id":"a1"}`+"\n", echo)
		want := `{"type":"accepted","channel":"general","id":"a1","seq":1}
{"type":"reply","channel":"general","id":"reply-2","to":["a1"],"text":"you said <hello>"}
`
		if s.out.String() != want {
			t.Errorf("got\n%swant\n%s", s.out, want)
		}
	})
	t.Run("compactions and memories are told as promised", func(t *testing.T) {
		s := open(t, Options{In: strings.NewReader(""), JSON: true}, echo)
		s.door.Compaction("terminal:x", compactor.Event{
			ID: 3, State: compactor.EventLanded, Trigger: compactor.OnManual, Kind: compactor.Leaf, By: compactor.ByWorker,
			From: 1, To: 9, Messages: 9, BeforeTokens: 50, AfterTokens: 20, Window: 100, Summary: "s",
		})
		s.door.Remembered("terminal:x", 7, "fact", "tea")
		want := `{"type":"compaction","channel":"x","id":3,"state":"landed","trigger":"manual","kind":"leaf","by":"worker","from_seq":1,"to_seq":9,"messages":9,"before_tokens":50,"after_tokens":20,"window":100,"summary":"s","error":""}
{"type":"memory","channel":"x","id":7,"kind":"fact","content":"tea"}
`
		if s.out.String() != want {
			t.Errorf("got\n%swant\n%s", s.out, want)
		}
	})
	t.Run("a message without id is given one that is told", func(t *testing.T) {
		s := talk(t, asJSON, "{\"text\":\"a\"}\n{\"text\":\"a\"}\n", echo)
		accepted := s.of(t, "accepted")
		if len(accepted) != 2 || accepted[0] == accepted[1] || strings.Contains(accepted[0], `"id":""`) {
			t.Errorf("got %q", accepted)
		}
	})
	t.Run("a repeated id is told its place again and not taken twice", func(t *testing.T) {
		line := `{"text":"once","id":"a1"}` + "\n"
		s := talk(t, asJSON, line+`{"text":"/context"}`+"\n"+line, echo)
		if got := s.of(t, "accepted"); len(got) != 2 || got[0] != got[1] {
			t.Errorf("accepted: %q", got)
		}
		if got := s.of(t, "reply"); len(got) != 2 {
			t.Errorf("replies: %q", got)
		}
	})
	t.Run("the same id in two channels is two messages", func(t *testing.T) {
		s := talk(t, asJSON, `{"text":"a","id":"1"}`+"\n"+`{"channel":"b","text":"a","id":"1"}`+"\n", echo)
		if got := s.of(t, "reply"); len(got) != 2 {
			t.Errorf("replies: %q", got)
		}
	})
	t.Run("who is not mentioned is heard and not answered, unless alone with the bot", func(t *testing.T) {
		s := talk(t, asJSON, `{"text":"a","id":"1","mention":false}
{"text":"/context"}
{"text":"b","id":"2","mention":false,"dm":true,"user":"Bo","time":"2026-01-31T15:04:05+01:00","channel":"terminal:general"}
`, echo)
		replies := s.of(t, "reply")
		if len(s.of(t, "accepted")) != 2 || len(replies) != 2 || !strings.Contains(replies[1], `"to":["2"]`) {
			t.Errorf("got\n%s", s.out)
		}
		conversation, err := s.store.Find(t.Context(), "terminal:general")
		if err != nil {
			t.Fatal(err)
		}
		messages, err := conversation.Transcript(t.Context(), 2, 1)
		if err != nil || messages[0].Author != "Bo" || !messages[0].Time.Equal(time.Date(2026, 1, 31, 14, 4, 5, 0, time.UTC)) {
			t.Errorf("kept %+v, %v", messages, err)
		}
	})
	t.Run("a failed turn is an error for the message, without internal words", func(t *testing.T) {
		s := talk(t, asJSON, `{"text":"a","id":"1"}`+"\n", func(context.Context, int, llm.Request) (llm.Response, error) {
			return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Message: "internal words"}
		})
		got := s.of(t, "error")
		if len(got) != 1 || !strings.HasPrefix(got[0], `{"type":"error","channel":"general","to":["1"],"text":"`) || strings.Contains(got[0], "internal") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("an end from outside ends the run, though the input goes on", func(t *testing.T) {
		in, write := io.Pipe()
		defer in.Close()
		ctx, cancel := context.WithCancel(t.Context())
		s := open(t, Options{In: in, JSON: true}, func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
			cancel()
			<-ctx.Done()
			return llm.Response{}, ctx.Err()
		})
		go func() { _, _ = io.WriteString(write, `{"text":"a"}`+"\n") }()
		if err := s.door.Run(ctx, s.hub); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestProtocolOrder(t *testing.T) {
	t.Run("a channel does not wait for another", func(t *testing.T) {
		var s *session
		s = open(t, Options{JSON: true, In: strings.NewReader(`{"channel":"slow","text":"a"}
{"channel":"slow","text":"/context"}
{"channel":"quick","text":"b"}
`)}, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			if lastWords(req) == "a" {
				s.out.wait(t, "you said b")
			}
			return echo(ctx, n, req)
		})
		if err := s.door.Run(t.Context(), s.hub); err != nil {
			t.Fatal(err)
		}
		if got := s.of(t, "reply"); len(got) != 3 {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a channel's messages keep their order", func(t *testing.T) {
		var input strings.Builder
		for i := range 40 {
			fmt.Fprintf(&input, `{"channel":"c%d","text":"m","id":"%03d"}`+"\n", i%2, i)
		}
		s := talk(t, asJSON, input.String(), echo)
		last := map[string]string{}
		for _, text := range s.of(t, "accepted") {
			var line acceptedLine
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Fatal(err)
			}
			if line.ID < last[line.Channel] {
				t.Errorf("%s came after %s", line.ID, last[line.Channel])
			}
			last[line.Channel] = line.ID
		}
		if last["c0"] != "038" || last["c1"] != "039" {
			t.Errorf("the last ones are %v", last)
		}
	})
	t.Run("a command waits until the lines before it are answered", func(t *testing.T) {
		s := talk(t, asJSON, `{"text":"first"}`+"\n"+`{"text":"/Memories","id":"m"}`+"\n"+`{"text":"last"}`+"\n", echo)
		got := s.of(t, "reply")
		if len(got) != 3 || !strings.Contains(got[0], "first") || !strings.Contains(got[1], `"to":["m"]`) || !strings.Contains(got[2], "last") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("/stop acts at once", func(t *testing.T) {
		in, write := io.Pipe()
		s := open(t, Options{In: in, JSON: true}, func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
			go func() {
				_, _ = io.WriteString(write, `{"text":"/stop","id":"s"}`+"\n")
				_ = write.Close()
			}()
			<-ctx.Done()
			return llm.Response{}, ctx.Err()
		})
		go func() { _, _ = io.WriteString(write, `{"text":"a","id":"1"}`+"\n") }()
		if err := s.door.Run(t.Context(), s.hub); err != nil {
			t.Fatal(err)
		}
		if got := s.of(t, "reply"); len(got) != 1 || !strings.Contains(got[0], `"to":["s"],"text":"Stopped."`) {
			t.Errorf("got %q", got)
		}
	})
}

func TestProtocolRefusals(t *testing.T) {
	for _, test := range []struct{ name, line, want string }{
		{"no JSON", `hello`, `"channel":"","to":[],"text":"line 1: a line must be one JSON object, as {\"text\": \"hello\"}"`},
		{"half an object", `{"text":"a`, `"text":"line 1: this is no JSON: unexpected EOF"`},
		{"a list", `[1]`, `a line must be one JSON object`},
		{"null", `null`, `a line must be one JSON object`},
		{"two objects", `{"text":"a"}{"text":"b"}`, `something follows the JSON object`},
		{"no text", `{"id":"7","channel":"c"}`, `"channel":"c","to":["7"],"text":"line 1: \"text\" is missing or empty"`},
		{"an empty text", `{"text":"  "}`, `\"text\" is missing or empty`},
		{"an unknown key", `{"text":"a","id":"7","colour":1}`, `"to":["7"],"text":"line 1: unknown field \"colour\": there are channel, user, text, id, time, mention and dm"`},
		{"a wrong type", `{"text":1}`, `\"text\" must not be a JSON number`},
		{"no time", `{"text":"a","time":"yesterday"}`, `\"time\" must look like`},
		{"a time nobody lives in", `{"text":"a","time":"0001-01-01T00:00:00Z"}`, `\"time\" must lie between`},
		{"a channel that cannot be named", `{"text":"a","channel":"a\nb"}`, `the name of the channel`},
		{"a user that cannot be named", `{"text":"a","user":"\u001b"}`, `the name of the user`},
		{"an id that is too long", `{"text":"a","id":"` + strings.Repeat("i", 101) + `"}`, `\"id\": the name of the message has more than 100 bytes`},
		{"a line that is too long", `{"text":"` + strings.Repeat("a", maxLine) + `"}`, `a line of more than 4 MB`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := talk(t, asJSON, test.line+"\n\n"+`{"text":"after","id":"z"}`+"\n", echo)
			got := s.of(t, "error")
			if len(got) != 1 || !strings.Contains(got[0], test.want) {
				t.Errorf("got  %.300q\nwant %s", got, test.want)
			}
			if accepted := s.of(t, "accepted"); len(accepted) != 1 || !strings.Contains(accepted[0], `"id":"z","seq":1`) {
				t.Errorf("accepted: %q", accepted)
			}
			if len(s.of(t, "reply")) != 1 {
				t.Error("the run did not go on")
			}
		})
	}
}

func TestPieces(t *testing.T) {
	s := open(t, Options{In: strings.NewReader(""), JSON: true}, nil)
	if got := s.door.Split("a\nb"); len(got) != 1 || got[0] != "a\nb" {
		t.Errorf("a reply was cut: %q", got)
	}
	w := s.door.Reply("terminal:x", nil)
	id, err := w.Send(t.Context(), channel.Piece{Reply: "r", Text: "t"})
	if err != nil || id != "r" || s.out.String() != `{"type":"reply","channel":"x","id":"r","to":[],"text":"t"}`+"\n" {
		t.Errorf("got %q, %v, %s", id, err, s.out)
	}
	t.Run("what cannot be written is not said to be sent", func(t *testing.T) {
		s := open(t, Options{In: strings.NewReader(""), Out: failing{}, Err: io.Discard, JSON: true}, nil)
		if _, err := s.door.Reply("terminal:x", nil).Send(t.Context(), channel.Piece{}); err == nil {
			t.Error("it was")
		}
	})
}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
