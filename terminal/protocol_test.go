package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
	"cairn/store"
)

func person(name string) channel.Person { return channel.Person{ID: name, Name: name} }

var asJSON = Options{JSON: true}

// of returns the output lines of one type.
func (s *session) of(t *testing.T, kind string) (lines []string) {
	t.Helper()
	for line := range strings.Lines(s.out.String()) {
		var head struct{ Type string }
		if err := json.Unmarshal([]byte(line), &head); err != nil {
			t.Errorf("got a line that is not JSON: %q", line)
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
		check.Equal(t, "the output", s.out.String(), want)
	})
	t.Run("compactions and memories are reported", func(t *testing.T) {
		s := open(t, Options{In: strings.NewReader(""), JSON: true}, echo)
		s.connector.Compaction("terminal:x", compactor.Event{
			ID: 3, State: compactor.EventApplied, Trigger: compactor.OnManual, Kind: compactor.Leaf, By: compactor.ByWorker,
			From: 1, To: 9, Messages: 9, BeforeTokens: 50, AfterTokens: 20, Window: 100, Summary: "s",
		})
		s.connector.Remembered("terminal:x", 7, "fact", "tea")
		s.connector.Used("terminal:x", store.ForSummary, "m1", channel.Expense{Requests: 1, Input: 900, Cached: 500, Output: 40, Cost: 0.25})
		want := `{"type":"compaction","channel":"x","id":3,"state":"applied","trigger":"manual","kind":"leaf","by":"worker","from_seq":1,"to_seq":9,"messages":9,"before_tokens":50,"after_tokens":20,"window":100,"summary":"s","error":""}
{"type":"memory","channel":"x","id":7,"kind":"fact","content":"tea"}
{"type":"usage","channel":"x","for":"summary","model":"m1","requests":1,"input_tokens":900,"cached_tokens":500,"written_tokens":0,"output_tokens":40,"cost":0.25}
`
		check.Equal(t, "the output", s.out.String(), want)
	})
	t.Run("usage is reported, and a message's settings apply", func(t *testing.T) {
		s := talk(t, asJSON, `{"text":"hello","id":"a1","compaction":{"compact_at_tokens":2000}}`+"\n", func(context.Context, int, llm.Request) (llm.Response, error) {
			resp := llmtest.Say("yes")
			resp.Usage = llm.Usage{Prompt: 700, Cached: 512, Completion: 3}
			return resp, nil
		})
		used := s.of(t, "usage")
		check.Len(t, "usage events", used, 1)
		check.Contains(t, "first usage event", used[0], `"for":"turn","model":"scripted","requests":1,"input_tokens":700,"cached_tokens":512`)
	})
	t.Run("a message the model sees in part has a notice, which is no failure", func(t *testing.T) {
		long := strings.Repeat("The tide rises twice a day. ", 1000)
		s := talk(t, asJSON, `{"id":"1","text":"`+long+`"}`+"\n", func(context.Context, int, llm.Request) (llm.Response, error) {
			return llmtest.Say("yes"), nil
		}, 4000)
		notices := s.of(t, "notice")
		if len(notices) != 1 || !strings.Contains(notices[0], `"to":["1"]`) || !strings.Contains(notices[0], "of 28000 characters") || len(s.of(t, "error")) > 0 {
			t.Errorf("got notices %q, all %q", notices, s.out)
		}
	})
	t.Run("a message without an id gets one, which is reported", func(t *testing.T) {
		s := talk(t, asJSON, "{\"text\":\"a\"}\n{\"text\":\"a\"}\n", echo)
		accepted := slices.DeleteFunc(s.of(t, "accepted"), func(line string) bool { return strings.Contains(line, `"seq":0`) })
		if len(accepted) != 2 || accepted[0] == accepted[1] || strings.Contains(accepted[0], `"id":""`) {
			t.Errorf("got %q", accepted)
		}
	})
}

func TestProtocolRepetitions(t *testing.T) {
	t.Run("a repeated id gets its seq again, and is not stored twice", func(t *testing.T) {
		line := `{"text":"once","id":"a1"}` + "\n"
		s := talk(t, asJSON, line+`{"text":"/context"}`+"\n"+line, echo)
		got := s.of(t, "accepted")
		check.Len(t, "accepted", got, 2)
		check.Equal(t, "first accepted event", got[0], got[1])
		check.Equal(t, "replies", len(s.of(t, "reply")), 2)
	})
	t.Run("a repetition that comes while the message waits is accepted too", func(t *testing.T) {
		line := `{"text":"once","id":"a1"}` + "\n"
		s := talk(t, asJSON, line+line+line, echo)
		check.Len(t, "accepted", s.of(t, "accepted"), 3)
	})
	t.Run("a command that comes again is not run again, its answer is repeated", func(t *testing.T) {
		line := `{"text":"/remember tea is at five","id":"c1"}` + "\n"
		s := talk(t, asJSON, line+line+strings.Replace(line, `"text"`, `"channel":"b","text"`, 1), echo)
		got := s.of(t, "reply")
		check.Require(t, len(got) == 3 && strings.Contains(strings.Join(got[:2], ""), "as memory "), "got %q", got)
		same := map[string]int{}
		for _, text := range got {
			same[text]++
		}
		if len(same) != 2 { // twice here, once in b
			t.Errorf("got %q", got)
		}
		_, total, err := memory.In(s.store).List(t.Context(), memory.Filter{Conversation: "terminal:general", Limit: 9})
		check.NoError(t, err)
		check.Equal(t, "memories", total, 1)
	})
	t.Run("a message that comes while a turn runs is on disk at once, and told its place later", func(t *testing.T) {
		in, write := io.Pipe()
		var s *session
		s = open(t, Options{JSON: true, In: in}, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			if n == 1 {
				_, _ = io.WriteString(write, `{"text":"b","id":"2"}`+"\n")
				s.out.wait(t, `{"type":"accepted","channel":"general","id":"2","seq":0}`)
				_ = write.Close()
			}
			return echo(ctx, n, req)
		})
		go func() { _, _ = io.WriteString(write, `{"text":"a","id":"1"}`+"\n") }()
		check.NoError(t, s.ends(t))
		if accepted := s.of(t, "accepted"); !strings.HasSuffix(accepted[len(accepted)-1], `"id":"2","seq":3}`) {
			t.Errorf("got %q", accepted)
		}
	})
	t.Run("the same id in two channels is two messages", func(t *testing.T) {
		s := talk(t, asJSON, `{"text":"a","id":"1"}`+"\n"+`{"channel":"b","text":"a","id":"1"}`+"\n", echo)
		check.Equal(t, "replies", len(s.of(t, "reply")), 2)
	})
}

func TestProtocolFailures(t *testing.T) {
	t.Run("unaddressed messages are stored and not answered, unless alone with the bot", func(t *testing.T) {
		s := talk(t, asJSON, `{"text":"a","id":"1","mention":false}
{"text":"/context"}
{"text":"b","id":"2","mention":false,"dm":true,"user":"Bo","time":"2026-01-31T15:04:05+01:00","channel":"terminal:general"}
`, echo)
		replies := s.of(t, "reply")
		check.Len(t, "lines that say accepted", s.of(t, "accepted"), 2)
		check.Len(t, "replies", replies, 2)
		check.Contains(t, "the second reply", replies[1], `"to":["2"]`)
		conversation := check.Must(s.store.Find(t.Context(), "terminal:general"))(t)
		messages, err := conversation.Transcript().Page(t.Context(), 2, 1)
		if err != nil || messages[0].Author != "Bo" || !messages[0].Time.Equal(time.Date(2026, 1, 31, 14, 4, 5, 0, time.UTC)) {
			t.Errorf("got stored %+v, %v", messages, err)
		}
	})
	t.Run("a failed turn is an error for the message, without internal words", func(t *testing.T) {
		s := talk(t, asJSON, `{"text":"a","id":"1"}`+"\n", func(context.Context, int, llm.Request) (llm.Response, error) {
			return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Message: "internal words"}
		})
		got := s.of(t, "error")
		check.Len(t, "result", got, 1)
		check.HasPrefix(t, "the line", got[0], `{"type":"error","channel":"general","to":["1"],"text":"`)
		check.Lacks(t, "the line", got[0], "internal")
	})
	t.Run("output that cannot be written ends the run", func(t *testing.T) {
		for _, input := range []string{`{"text":"hello"}`, `{"text":"/help"}`, "nonsense"} {
			t.Run(input, func(t *testing.T) {
				in, end := endless(input + "\n")
				defer end()
				s := open(t, Options{In: in, Out: failing{}, Err: io.Discard, JSON: true, Channel: "general", User: "Ada"}, echo)
				check.ErrorContains(t, "error", s.ends(t), "the replies cannot be written (io: read/write on closed pipe)")
			})
		}
	})
	t.Run("a message that could not be written is told in a sentence, and the run goes on", func(t *testing.T) {
		s := open(t, Options{In: strings.NewReader(""), JSON: true}, echo)
		p := s.connector.mode.(*protocol)
		p.log, p.saving = s.log, saving(s.log)
		s.lose(t)
		for _, text := range []string{"hello", "/context"} {
			r := check.Must(p.parse(Line{Number: 1, Text: `{"id":"1","text":"` + text + `"}`}))(t)
			p.handle(t.Context(), s.hub, r)
		}
		want := `{"type":"error","channel":"general","to":["1"],"text":"Your message could not be saved, so it was not accepted. Send it again later."}
{"type":"error","channel":"general","to":["1"],"text":"That did not work; the reason is in my log. Try again later."}
`
		check.Equal(t, "the output", s.out.String(), want)
		s.logged.wait(t, "database is closed")
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
		check.NoError(t, s.connector.Run(t.Context(), s.hub, s.log))
		check.Equal(t, "result", len(s.of(t, "reply")), 3)
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
			check.NoError(t, json.Unmarshal([]byte(text), &line))
			if line.Seq == 0 { // it waits, and gets its seq later
				continue
			}
			if line.ID < last[line.Channel] {
				t.Errorf("%s came after %s", line.ID, last[line.Channel])
			}
			last[line.Channel] = line.ID
		}
		check.Equal(t, "last answer", last["c0"], "038")
		check.Equal(t, "last answer in the other channel", last["c1"], "039")
	})
	t.Run("a command waits until the lines before it are answered", func(t *testing.T) {
		s := talk(t, asJSON, `{"text":"first"}`+"\n"+`{"text":"/Memories","id":"m"}`+"\n"+`{"text":"last"}`+"\n", echo)
		got := s.of(t, "reply")
		if len(got) != 3 || !strings.Contains(got[0], "first") || !strings.Contains(got[1], `"to":["m"]`) || !strings.Contains(got[2], "last") {
			t.Errorf("got %q", got)
		}
	})
	for command, want := range map[string]string{"/stop": "Stopped.", "/pause": "I am paused here until /resume."} {
		t.Run(command+" acts at once", func(t *testing.T) {
			in, write := io.Pipe()
			s := open(t, Options{In: in, JSON: true}, func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
				go func() {
					_, _ = io.WriteString(write, `{"text":"`+command+`","id":"s"}`+"\n")
					_ = write.Close()
				}()
				select {
				case <-ctx.Done():
				case <-time.After(10 * time.Second):
				}
				return llm.Response{}, errors.Join(ctx.Err(), errors.New("nobody stopped it"))
			})
			go func() { _, _ = io.WriteString(write, `{"text":"a","id":"1"}`+"\n") }()
			check.NoError(t, s.connector.Run(t.Context(), s.hub, s.log))
			got := s.of(t, "reply")
			check.Len(t, "replies", got, 1)
			check.Contains(t, "first reply", got[0], `"to":["s"],"text":"`+want)
			check.Equal(t, "state afterwards", len(s.of(t, "error")), 0)
		})
	}
}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
