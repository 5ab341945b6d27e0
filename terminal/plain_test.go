package terminal

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/channeltest"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

func TestPlain(t *testing.T) {
	t.Run("replies stand alone on the output, in order", func(t *testing.T) {
		s := talk(t, Options{}, "one\n\n   \ntwo\nthree", echo)
		check.Equal(t, "result", s.out.String(), "you said one\nyou said two\nyou said three\n")
		check.Equal(t, "the error stream", s.err.String(), "")
	})
	t.Run("a line is answered before the next is said", func(t *testing.T) {
		var s *session
		s = open(t, Options{In: strings.NewReader("one\ntwo\nthree\n")}, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			check.Equal(t, fmt.Sprintf("at request %d", n), strings.Count(s.out.String(), "\n"), n-1)
			return echo(ctx, n, req)
		})
		check.NoError(t, s.connector.Run(t.Context(), s.hub, s.log))
	})
	t.Run("a command is answered on the output", func(t *testing.T) {
		s := talk(t, Options{}, "/help\n", echo)
		check.Contains(t, "the output", s.out.String(), "/compact [focus]")
	})
	t.Run("what looks like a command is a message", func(t *testing.T) {
		s := talk(t, Options{}, "/etc/passwd\n", echo)
		check.Equal(t, "the output", s.out.String(), "you said /etc/passwd\n")
	})
	t.Run("what a stranger wrote reaches no terminal behind the pipe", func(t *testing.T) {
		s := talk(t, Options{}, "hello\n", func(context.Context, int, llm.Request) (llm.Response, error) {
			return llmtest.Say("\x1b]52;c;x\x07red \u009b2J\u202eok\tend"), nil
		})
		check.Equal(t, "result", s.out.String(), "]52;c;xred 2Jok\tend\n")
	})
	t.Run("a message that is not answered because of a pause is followed by why", func(t *testing.T) {
		s := talk(t, Options{}, "/pause\none\n/resume\ntwo\n", echo)
		check.Equal(t, "the output", s.out.String(), "I am paused here until /resume. I keep listening.\nI am answering again.\nyou said two\n")
		check.Equal(t, "the error stream", s.err.String(), "I am still paused here; /resume ends that.\n")
	})
	t.Run("where the bot only listens, it says so", func(t *testing.T) {
		s := open(t, Options{In: strings.NewReader("one\n")}, echo)
		s.hub.Renew(channel.Rules{Respond: func(string) channel.Respond { return channel.RespondNever }})
		check.NoError(t, s.connector.Run(t.Context(), s.hub, s.log))
		check.Equal(t, "the output", s.out.String(), "")
		check.Equal(t, "the error stream", s.err.String(), "I do not answer here.\n")
	})
	t.Run("a failure is printed on the error stream", func(t *testing.T) {
		s := talk(t, Options{}, "one\n", func(context.Context, int, llm.Request) (llm.Response, error) {
			return llm.Response{}, &llm.Error{Kind: llm.KindAuth, Status: 401, Message: "internal words"}
		})
		if s.out.String() != "" || !strings.Contains(s.err.String(), "rejects my API key") || strings.Contains(s.err.String(), "internal") {
			t.Errorf("output %q, errors %q", s.out, s.err)
		}
	})
}

func TestPlainEnds(t *testing.T) {
	t.Run("a line of 1 MB is taken whole, one that is too long is refused in words", func(t *testing.T) {
		long := strings.Repeat("word ", 200_000)
		s := talk(t, Options{}, long+"\n"+strings.Repeat("x", maxLine+1)+"\nafter\n", func(context.Context, int, llm.Request) (llm.Response, error) {
			return llmtest.Say("yes"), nil
		})
		check.Equal(t, "the output", s.out.String(), "yes\nyes\n")
		check.Contains(t, "the errors", s.err.String(), "more than 4 MB")
		conversation := check.Must(s.store.Find(t.Context(), "terminal:general"))(t)
		messages, err := conversation.Transcript().Page(t.Context(), 1, 10)
		if err != nil || len(messages) != 4 || strings.TrimSpace(messages[0].Text) != strings.TrimSpace(long) {
			t.Errorf("got %d messages, %v", len(messages), err)
		}
	})
	t.Run("an error stream that cannot be written does not keep the run from its end", func(t *testing.T) {
		s := open(t, Options{In: strings.NewReader("hello\n"), Out: io.Discard, Err: failing{}, Channel: "general", User: "Ada"},
			func(context.Context, int, llm.Request) (llm.Response, error) {
				return llm.Response{}, &llm.Error{Kind: llm.KindAuth, Status: 401}
			})
		check.NoError(t, s.ends(t))
	})
	t.Run("a message that could not be written is told in a sentence, and ends the run", func(t *testing.T) {
		s := open(t, Options{In: strings.NewReader("hello\n")}, echo)
		check.NoError(t, s.hub.Idle(t.Context(), "terminal:general"))
		s.lose(t)
		p := s.connector.mode.(*plain)
		p.log, p.saving = s.log, saving(s.log)
		check.ErrorContains(t, "the result", p.say(t.Context(), s.hub, typed{text: "hello"}), "was not accepted. Send it again later.")
		s.logged.wait(t, "database is closed")
	})
	t.Run("an end from outside ends the run, though the input goes on", func(t *testing.T) {
		in, _ := io.Pipe()
		defer in.Close()
		s := open(t, Options{In: in}, echo)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		check.Error(t, s.connector.Run(ctx, s.hub, s.log), context.Canceled)
	})
	t.Run("the next start answers what was left, and only this channel's", func(t *testing.T) {
		s := open(t, Options{In: strings.NewReader("now\n")}, echo)
		for _, name := range []string{"terminal:general", "terminal:other"} {
			conversation := check.Must(s.store.Conversation(t.Context(), name))(t)
			check.Must(conversation.Inbox().Deliver(t.Context(), inbound(person("Ada"), "left in "+name)))(t)
		}
		check.NoError(t, s.connector.Run(t.Context(), s.hub, s.log))
		check.Equal(t, "result", s.out.String(), "you said left in terminal:general\nyou said now\n")
	})
}

func TestPipeAsksForNoApproval(t *testing.T) {
	s := talk(t, Options{}, "please add\n", channeltest.Add)
	check.Contains(t, "the output", s.out.String(), "there is no one to ask here")
}

func TestStatus(t *testing.T) {
	event := compactor.Event{From: 1, To: 9, Messages: 9, BeforeTokens: 3400, AfterTokens: 1200, Window: 4000, Error: "the model is away; nothing was lost"}
	for _, test := range []struct {
		name  string
		state compactor.EventState
		want  string
	}{
		{"a start", compactor.EventStarted, "· compacting messages 1 to 9"},
		{"an end", compactor.EventApplied, "· compacted messages 1 to 9: 3400 → 1200 tokens of 4000"},
		{"a failure", compactor.EventFailed, "· could not compact messages 1 to 9: the model is away; nothing was lost"},
		{"nothing to do", compactor.EventNoop, ""},
		{"an intermediate step", compactor.EventPrepared, ""},
	} {
		event.State = test.state
		check.Equal(t, test.name, status(event), test.want)
	}
}

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

func TestSlowAnswerIsShownWhole(t *testing.T) {
	const want = "Ada moved to Turin"
	t.Run("plain", func(t *testing.T) {
		s := talk(t, Options{}, "Ada moved to Turin in May.\n/recap\n/help\n", echo)
		recap, help := strings.Index(s.out.String(), "Made without a model"), strings.Index(s.out.String(), "/compact")
		if strings.Count(s.out.String(), want) != 3 || recap < 0 || help < recap || strings.Contains(s.out.String(), "one moment") {
			t.Errorf("got %q", s.out)
		}
	})
	t.Run("JSON Lines", func(t *testing.T) {
		s := talk(t, asJSON, `{"id":"1","text":"Ada moved to Turin in May."}`+"\n"+`{"id":"2","text":"/recap"}`+"\n", echo)
		replies := s.of(t, "reply")
		check.Len(t, "replies", replies, 2)
		check.Contains(t, "second reply", replies[1], want, "Made without a model")
	})
}
