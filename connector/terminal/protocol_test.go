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
	"cairn/channel/report"
	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/prices"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// numbered returns the lines that accept messages with their seq: on a slow machine others with 0 come before.
func (s *session) numbered(t *testing.T) []string {
	return slices.DeleteFunc(s.of(t, -1, "accepted"), func(line string) bool { return strings.HasSuffix(line, `"seq":0}`) })
}

// of returns the output lines of one type, after checking that there are n; n < 0: any number.
func (s *session) of(t *testing.T, n int, kind string) (lines []string) {
	t.Helper()
	for line := range strings.Lines(s.out.String()) {
		var head struct{ Type string }
		check.That(t, json.Unmarshal([]byte(line), &head) == nil, "got a line that is not JSON: %q", line)
		if head.Type == kind {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	if n >= 0 {
		check.Len(t, kind, lines, n)
	}
	return lines
}

// jsonLines joins lines.
func jsonLines(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

// talkJSON runs the terminal on lines until their end.
func talkJSON(t *testing.T, model answer, lines ...string) *session {
	t.Helper()
	return talk(t, Options{JSON: true}, jsonLines(lines...), model)
}

func TestProtocol(t *testing.T) {
	t.Parallel()
	t.Run("a message with settings is accepted and answered, and its usage reported, keys in their order", func(t *testing.T) {
		s := talkJSON(t, func(context.Context, int, llm.Request) (llm.Response, error) {
			resp := llmtest.Say("<yes>")
			resp.Usage = llm.Usage{Prompt: 700, Cached: 512, Completion: 3}
			return resp, nil
		}, "\ufeff"+`{"text":"<hello>","id":"a1","compaction":{"compact_at_tokens":2000}}`)
		waits := `{"type":"accepted","channel":"general","id":"a1","seq":0}` + "\n" // only if a second passes before it is taken up
		check.Equal(t, "the output", strings.Replace(s.out.String(), waits, "", 1), jsonLines(
			`{"type":"accepted","channel":"general","id":"a1","seq":1}`,
			`{"type":"usage","channel":"general","for":"turn","model":"scripted","requests":1,"input_tokens":700,"cached_tokens":512,"written_tokens":0,"output_tokens":3,"cost":0}`,
			`{"type":"reply","channel":"general","id":"reply-2","to":["a1"],"text":"<yes>"}`,
		))
	})
	t.Run("compactions, memories, usage and pieces of replies are reported", func(t *testing.T) {
		s := open(t, Options{JSON: true}, scripted(echo))
		s.connector.Compaction("terminal:x", compactor.Event{
			ID: 3, State: compactor.EventApplied, Trigger: compactor.OnManual, Kind: compactor.Leaf, By: compactor.ByWorker,
			From: 1, To: 9, Messages: 9, BeforeTokens: 50, AfterTokens: 20, Window: 100, Summary: "s",
		})
		s.connector.Remembered("terminal:x", 7, "fact", "tea")
		s.connector.Used("terminal:x", store.ForSummary, "m1", report.Expense{Requests: 1, Tokens: prices.Tokens{Input: 900, Cached: 500, Output: 40}, Cost: 0.25})
		check.EqualAll(t, "pieces of a reply", s.connector.Split("a\nb"), []string{"a\nb"})
		id := check.Must(s.connector.Reply("terminal:x", nil).Send(t.Context(), channel.Piece{Reply: "r", Text: "t"}))(t)
		check.Equal(t, "id of the piece", id, "r")
		check.Equal(t, "the output", s.out.String(), jsonLines(
			`{"type":"compaction","channel":"x","id":3,"state":"applied","trigger":"manual","kind":"leaf","by":"worker","from_seq":1,"to_seq":9,"messages":9,"before_tokens":50,"after_tokens":20,"window":100,"summary":"s","error":""}`,
			`{"type":"memory","channel":"x","id":7,"kind":"fact","content":"tea"}`,
			`{"type":"usage","channel":"x","for":"summary","model":"m1","requests":1,"input_tokens":900,"cached_tokens":500,"written_tokens":0,"output_tokens":40,"cost":0.25}`,
			`{"type":"reply","channel":"x","id":"r","text":"t"}`,
		))
	})
	t.Run("a message the model sees in part has a notice, which is no failure", func(t *testing.T) {
		input := `{"id":"1","text":"` + strings.Repeat("The tide rises twice a day. ", 1000) + `"}`
		s := open(t, Options{JSON: true, In: strings.NewReader(input)}, &llmtest.Model{Func: says("yes"), Tokens: 4000})
		check.NoError(t, s.run(t))
		check.Contains(t, "notice", s.of(t, 1, "notice")[0], `"to":["1"]`, "of 28000 characters")
		s.of(t, 0, "error")
	})
	t.Run("a failed turn is an error for the message, without internal words", func(t *testing.T) {
		got := talkJSON(t, refuses, `{"text":"a","id":"1"}`).of(t, 1, "error")[0]
		check.HasPrefix(t, "the line", got, `{"type":"error","channel":"general","to":["1"],"text":"`)
		check.Lacks(t, "the line", got, "internal")
	})
	t.Run("unaddressed messages are stored and not answered, unless alone with the bot; a command is answered when it is done", func(t *testing.T) {
		s := talkJSON(t, echo,
			`{"text":"a","id":"1","mention":false}`,
			`{"text":"/context"}`,
			`{"text":"b","id":"2","mention":false,"dm":true,"user":"Bo","time":"2026-01-31T15:04:05+01:00","channel":"terminal:general"}`,
			`{"text":"/recap","id":"3"}`,
		)
		check.Len(t, "accepted", s.numbered(t), 2)
		replies := s.of(t, 3, "reply")
		check.Contains(t, "the second reply", replies[1], `"to":["2"]`)
		check.Contains(t, "the third reply", replies[2], `"to":["3"]`, "Made without a model")
		stored := s.messages(t, "terminal:general")[1]
		check.Equal(t, "author", stored.Author, "Bo")
		check.Equal(t, "time", stored.Time.UTC(), time.Date(2026, 1, 31, 14, 4, 5, 0, time.UTC))
	})
}

func TestProtocolRepetitions(t *testing.T) {
	t.Parallel()
	const once, remember = `{"text":"once","id":"a1"}`, `{"text":"/remember tea is at five","id":"c1"}`
	t.Run("a repeated id gets its seq again, and is not stored twice; a repeated command is not run again, its answer is repeated", func(t *testing.T) {
		s := talkJSON(t, echo, once, once, remember, once, remember, strings.Replace(remember, `"text"`, `"channel":"b","text"`, 1))
		accepted := s.of(t, -1, "accepted") // the last once tells its seq, the others may have come before it had one
		check.Contains(t, "accepted", accepted[len(accepted)-1], `"id":"a1","seq":1}`)
		replies := s.of(t, 4, "reply") // one to the message
		slices.Sort(replies)
		check.Len(t, "different replies, one of them in b", slices.Compact(replies), 3)
		_, total, err := memory.In(s.store).List(t.Context(), memory.Filter{Conversation: "terminal:general", Limit: 9})
		check.NoError(t, err)
		check.Equal(t, "memories", total, 1)
	})
	t.Run("a message that comes while a turn runs is on disk at once, and told its place later", func(t *testing.T) {
		in, write := io.Pipe()
		var s *session
		s = open(t, Options{JSON: true, In: in}, scripted(func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			if n == 1 {
				_, _ = io.WriteString(write, jsonLines(`{"text":"b","id":"2"}`))
				s.out.wait(t, `{"type":"accepted","channel":"general","id":"2","seq":0}`)
				_ = write.Close()
			}
			return echo(ctx, n, req)
		}))
		go func() { _, _ = io.WriteString(write, jsonLines(`{"text":"a","id":"1"}`)) }()
		check.NoError(t, s.run(t))
		check.Contains(t, "accepted", strings.Join(s.of(t, -1, "accepted"), ""), `"id":"2","seq":3}`)
	})
	t.Run("the same id in two channels is two messages, and without an id each is one", func(t *testing.T) {
		s := talkJSON(t, echo, `{"text":"a","id":"1"}`, `{"channel":"b","text":"a","id":"1"}`, `{"channel":"c","text":"a"}`, `{"channel":"c","text":"a"}`)
		check.That(t, len(s.of(t, -1, "reply")) >= 3, "got %s", s.out)
		messages := slices.DeleteFunc(s.messages(t, "terminal:c"), func(m chat.Message) bool { return m.Role != llm.RoleUser })
		check.Len(t, "messages in c", messages, 2)
		check.Lacks(t, "output", s.out.String(), `"id":""`)
	})
}

func TestProtocolFailures(t *testing.T) {
	t.Parallel()
	for _, input := range []string{`{"text":"hello"}`, `{"text":"/help"}`, "nonsense"} {
		in, end := io.Pipe() // which continues
		s := open(t, Options{In: io.MultiReader(strings.NewReader(input+"\n"), in), Out: failing{}, Err: io.Discard, JSON: true}, scripted(echo))
		check.ErrorContains(t, input, s.run(t), "the replies cannot be written (io: read/write on closed pipe)")
		_ = end.Close()
	}
	t.Run("a message that could not be written is told in a sentence, and the run goes on", func(t *testing.T) {
		s := open(t, Options{JSON: true}, scripted(echo))
		p := s.connector.mode.(*protocol)
		p.client = client{Here(s.hub, s.log), s.log}
		s.lose(t)
		for _, text := range []string{"hello", "/context"} {
			r := check.Must(p.parse(Line{Number: 1, Text: `{"id":"1","text":"` + text + `"}`}))(t)
			p.report(t.Context(), r, p.handle)
		}
		check.Equal(t, "the output", s.out.String(), jsonLines(
			`{"type":"error","channel":"general","to":["1"],"text":"Your message could not be saved, so it was not accepted. Send it again later."}`,
			`{"type":"error","channel":"general","to":["1"],"text":"That did not work; my log says why. Try again later."}`,
		))
		s.logged.wait(t, "database is closed")
	})
}

func TestProtocolOrder(t *testing.T) {
	t.Parallel()
	t.Run("a channel does not wait for another", func(t *testing.T) {
		var s *session
		input := jsonLines(`{"channel":"slow","text":"a"}`, `{"channel":"slow","text":"/context"}`, `{"channel":"quick","text":"b"}`)
		s = open(t, Options{JSON: true, In: strings.NewReader(input)}, scripted(func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			if lastWords(req) == "a" {
				s.out.wait(t, "you said b")
			}
			return echo(ctx, n, req)
		}))
		check.NoError(t, s.run(t))
		s.of(t, 3, "reply")
	})
	t.Run("a channel's messages keep their order", func(t *testing.T) {
		var input []string
		for i := range 40 {
			input = append(input, fmt.Sprintf(`{"channel":"c%d","text":"m","id":"%03d"}`, i%2, i))
		}
		last := map[string]string{}
		for _, text := range talkJSON(t, echo, input...).of(t, -1, "accepted") {
			var line struct {
				acceptedLine
				Channel string
			}
			check.NoError(t, json.Unmarshal([]byte(text), &line))
			if line.Seq == 0 { // it waits, and gets its seq later
				continue
			}
			check.That(t, line.ID >= last[line.Channel], "%s came after %s", line.ID, last[line.Channel])
			last[line.Channel] = line.ID
		}
		check.Equal(t, "last answers", last["c0"]+" "+last["c1"], "038 039")
	})
	t.Run("a command waits until the lines before it are answered", func(t *testing.T) {
		s := talkJSON(t, echo, `{"text":"first"}`, `{"text":"/Memories","id":"m"}`, `{"text":"last"}`)
		inOrder(t, strings.Join(s.of(t, 3, "reply"), "\n"), "first", `"to":["m"]`, "last")
	})
	for command, want := range map[string]string{"/stop": "Stopped.", "/pause": "I am paused here until /resume."} {
		t.Run(command+" acts at once", func(t *testing.T) {
			in, write := io.Pipe()
			s := open(t, Options{In: in, JSON: true}, scripted(func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
				go func() {
					_, _ = io.WriteString(write, jsonLines(`{"text":"`+command+`","id":"s"}`))
					_ = write.Close()
				}()
				select {
				case <-ctx.Done():
				case <-time.After(10 * time.Second):
				}
				return llm.Response{}, errors.Join(ctx.Err(), errors.New("nobody stopped it"))
			}))
			go func() { _, _ = io.WriteString(write, jsonLines(`{"text":"a","id":"1"}`)) }()
			check.NoError(t, s.run(t))
			check.Contains(t, "reply", s.of(t, 1, "reply")[0], `"to":["s"],"text":"`+want)
			s.of(t, 0, "error")
		})
	}
}

func TestProtocolRefusals(t *testing.T) {
	t.Parallel()
	refused := []struct{ name, line, want string }{
		{"no JSON", `hello`, `"channel":"general","text":"line 1: invalid character 'h'`},
		{"half an object", `{"text":"a`, `"text":"line 1: unexpected EOF"`},
		{"a list", `[1]`, `a line must be one JSON object`},
		{"two objects", `{"text":"a"}{"text":"b"}`, `there is text after the JSON object`},
		{"no text", `{"id":"7","channel":"c"}`, `"channel":"c","to":["7"],"text":"line 1: text is missing or empty"`},
		{"an unknown key", `{"text":"a","colour":1,"id":"7"}`, `"to":["7"],"text":"line 1: unknown field \"colour\""`},
		{"a key in another case", `{"text":"a","ID":"7"}`, `line 1: unknown field \"ID\"`},
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
		{"a line that is too long", `{"text":"` + strings.Repeat("a", maxLine) + `"}`, `"channel":"general","text":"line 1: a line longer than 4 MB`},
		{"an unknown command", `{"id":"7","text":"/contxt"}`, `"to":["7"],"text":"line 1: There is no command /contxt. Did you mean /context?`},
		{"the wish to leave", `{"id":"7","text":"/quit"}`, `close the input`},
	}
	var input []string
	for _, c := range refused {
		input = append(input, c.line)
	}
	s := talkJSON(t, echo, append(input, "", `{"text":"//stop","id":"z"}`)...) // the run goes on
	got := s.of(t, len(refused), "error")
	for i, c := range refused {
		check.Contains(t, c.name, got[i], strings.Replace(c.want, "line 1:", fmt.Sprintf("line %d:", i+1), 1))
	}
	accepted := s.of(t, -1, "accepted") // on a slow machine first with seq 0
	check.Contains(t, "accepted", accepted[len(accepted)-1], `"id":"z","seq":1`)
	check.Contains(t, "reply", s.of(t, 1, "reply")[0], "you said /stop")
}

func TestProtocolApproval(t *testing.T) {
	t.Parallel()
	read, write := io.Pipe()
	s := open(t, Options{JSON: true, In: read}, scripted(channeltest.Add))
	ended := make(chan error, 1)
	go func() { ended <- s.run(t) }()
	say := func(text, id string) { check.Must(fmt.Fprintf(write, `{"text":%q,"id":%q}`+"\n", text, id))(t) }
	say("please add", "1")
	s.out.wait(t, `"buttons":[{"label":"Allow","line":"/allow `)
	_, line, _ := strings.Cut(s.out.String(), `"line":"`)
	line, _, _ = strings.Cut(line, `"`)
	say(line, "2")
	s.out.wait(t, "The tool says: five")
	say("please add", "3")
	asked := func() bool { return len(s.hub.Operator().Approvals("terminal:general")) == 1 }
	check.Require(t, check.Soon(asked), "no second question")
	check.NoError(t, write.Close()) // no one can answer any more
	check.NoError(t, <-ended)
	check.Contains(t, "output", s.out.String(), "there is no one to ask here")
}
