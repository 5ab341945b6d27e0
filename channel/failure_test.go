package channel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/observe"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

func TestFailuresInWords(t *testing.T) {
	r := newRig(t, echo)
	full := fmt.Errorf("deliver message of %s: %w", place, store.ErrFull)
	check.Contains(t, "a full disk", r.hub.Operator().Refusal(place, full), "My disk is full")
	check.Contains(t, "anything else", r.hub.Operator().Refusal(place, errors.New("secret internals")), "could not be saved, so it was not accepted")
	r.agent.Language = "de"
	r.reopen()
	r.ask("hello")
	storetest.Refuse(t, r.store, "INSERT ON pins", "secret internals")
	answer, _, err := r.hub.Run(t.Context(), place, access.Person{ID: "u1", Manager: true}, "/pin 1")
	check.ErrorContains(t, "error for the log", err, "secret internals")
	check.Equal(t, "answer", answer.Text, "Das hat nicht geklappt; der Grund steht in meinem Protokoll. Versuche es später noch einmal.")
	// A message that cannot be stored is not accepted.
	r = newRig(t, echo)
	r.ask("hello")
	check.NoError(t, r.store.Close())
	check.That(t, r.deliverTo(place, "lost?", addressed) != nil, "a message that cannot be written was acknowledged")
	check.NoError(t, r.hub.Close())
	r.hub = nil
}

func TestProviderFailureIsReported(t *testing.T) {
	refused := func(kind llm.Kind, status int) error {
		return &llm.Error{Kind: kind, Status: status, Message: "secret internals", Where: llm.Where{Key: "OPENAI_API_KEY"}}
	}
	for name, tt := range map[string]struct {
		err   error
		calls int
		says  string
	}{
		"a refusal":              {refused(llm.KindBadRequest, 400), 1, "refused"},
		"a wrong key":            {refused(llm.KindAuth, 401), 1, "OPENAI_API_KEY"},
		"an outage":              {refused(llm.KindOverloaded, 503), 2, "overloaded"},
		"an overflow that stays": {refused(llm.KindOverflow, 400), 1, "/compact"},
		"something else":         {errors.New("secret internals"), 1, "went wrong"},
		"a panic":                {nil, 1, "went wrong"},
	} {
		r := newRig(t, func(context.Context, int, llm.Request) (llm.Response, error) {
			if tt.err == nil {
				panic("secret internals")
			}
			return llm.Response{}, tt.err
		})
		r.ask("hello")
		check.Equal(t, name+": calls", len(r.model.Requests()), tt.calls)
		r.restart()
		r.waitForReplies()
		check.Len(t, name+": sent, also after a restart", r.connector.sent, 1)
		check.That(t, r.connector.sent[0].Failure, "the sentence is no failure")
		check.Contains(t, name+": sent", r.lastText(), tt.says)
		check.Lacks(t, name+": sent", r.lastText(), "secret")
		r.model.Func = echo
		r.ask("again")
		check.EqualAll(t, name+": transcript", r.transcript(), []string{"user: hello", "user: again", fmt.Sprint("assistant: answer ", tt.calls+1)})
	}
}

// Some models return nothing now and then, most often after tool results.
func TestEmptyAnswerIsAskedForAgain(t *testing.T) {
	lookUp := useTool("recall", map[string]any{"query": "tea"})
	withText := useTool("recall", map[string]any{"query": "tea"})
	withText.Message.Text = "I look, and need no more words"
	for says, answers := range map[string][]llm.Response{
		"it was once":                    {llmtest.Say(""), llmtest.Say("it was once")},
		"it was after tool results":      {lookUp, llmtest.Say(" "), llmtest.Say("it was after tool results")},
		"gave no answer":                 {llmtest.Say(""), llmtest.Say("")},
		"I look, and need no more words": {withText, llmtest.Say("")},
		"nobody asked":                   {llmtest.Say(""), llmtest.Say("nobody asked")}, // where NO_REPLY is allowed
	} {
		r := newRig(t, inTurn(answers...)).withRules(respondRules(access.RespondAll))
		r.post(r.inbound("hello", says != "nobody asked"))
		check.Contains(t, "the reply", texts(r.connector.texts()), says)
		check.Len(t, says+": requests", r.model.Requests(), len(answers))
		sent := r.connector.sent[0]
		described := slices.ContainsFunc(r.messagesIn(place), func(m chat.Message) bool { return m.ID == sent.Reply && strings.Contains(sent.Text, m.Text) })
		check.Equal(t, says+": a row describes the reply", described, !sent.Failure)
	}
}

// The usage of an answer that the disk refuses is neither lost nor counted twice.
func TestReplyThatCannotBeStoredIsReported(t *testing.T) {
	r := newRig(t, nil)
	r.model.Func = while(func(n int) { // the outbox is broken while the model writes its first answer
		switch n {
		case 1:
			r.execute("ALTER TABLE outbox RENAME TO elsewhere")
		case 2:
			r.execute("ALTER TABLE elsewhere RENAME TO outbox")
		}
	}, billed(100))
	r.sayUntil("hello", "holding it back")
	check.That(t, r.connector.sent[0].Failure, "got %+v", r.connector.sent)
	r.say("and now?", true)
	r.connector.until(t, "the answers", func() bool { return len(r.connector.sent) == 3 })
	r.waitForReplies()
	check.EqualAll(t, "transcript", r.transcript(), []string{"user: hello", "assistant: yes", "user: and now?", "assistant: yes"})
	r.wantUsage("a reply that waited", "turn scripted 3 300 0 0 3")
}

// An answer that people have stopped is not written again because the disk refuses what they saw of it.
func TestStopOutlivesADiskThatRefuses(t *testing.T) {
	words := strings.Repeat("word ", 1000)
	for _, ends := range []string{"", "the process", "the wait"} { // before the disk accepts it
		inBubble(t, inSteps(alwaysSay(words), alwaysSay("in full")), func(t *testing.T, r *rig) {
			log := r.captureLog()
			r.model.Delay = time.Second
			accept := storetest.Refuse(t, r.store, "INSERT ON outbox", "no")
			r.say("hello", true)
			time.Sleep(10 * time.Second)
			r.wantAnswer("/stop", "Stopped.")
			time.Sleep(time.Minute)
			check.HasPrefix(t, "what people read", r.lastText(), "I cannot save what I wrote before I was stopped")
			check.EqualAll(t, "the transcript", r.transcript(), []string{"user: hello"})
			check.Equal(t, "warnings", log.count("level=WARN"), 1)
			want := "assistant: in full"
			switch ends {
			case "the process": // what people saw is gone with it
				r.stop()
				r.start()
			case "the wait": // then the conversation goes on without it
				time.Sleep(10 * time.Minute)
				accept()
				check.NoError(t, r.hub.Recover(t.Context(), func(string) bool { return true }))
				time.Sleep(time.Minute)
				r.waitForReplies()
				check.HasPrefix(t, "what people read instead", r.lastText(), "I was interrupted repeatedly")
				check.Equal(t, "the next answer", r.ask("and now?"), "in full")
				return
			default:
				want = "assistant: word word"
			}
			accept()
			check.NoError(t, r.hub.Recover(t.Context(), func(string) bool { return true }))
			time.Sleep(time.Minute)
			r.waitForReplies()
			stored := r.transcript()
			check.That(t, len(stored) == 2 && strings.HasPrefix(stored[1], want) && len(stored[1]) < 200, "stored: %.200q", stored)
			check.That(t, strings.HasPrefix("assistant: "+r.lastText(), want), "sent: %.100q", r.lastText())
			r.ask("and now?")
			check.Contains(t, "the prompt", r.lastRequestText(), strings.TrimPrefix(want, "assistant: "))
		})
	}
}

// Conversations that cannot be opened are one incident. Nobody waits for them, and all recover.
func TestStuckConversationsLogOneWarningAndRecover(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		log := r.captureLog()
		r.execute("ALTER TABLE compactions RENAME TO elsewhere")
		places := []string{"test:1/a", "test:1/b", "test:1/c"}
		for _, where := range places {
			check.NoError(t, r.deliverTo(where, "hello", addressed))
			check.That(t, r.hub.Idle(t.Context(), where) != nil, "waiting for a conversation that cannot be opened succeeds")
			_, _, err := r.hub.Run(t.Context(), where, access.Person{}, "/context")
			check.That(t, err != nil, "/context in a conversation that cannot be opened succeeds")
		}
		check.Equal(t, "stuck conversations", r.hub.Stats().Stuck, 3)
		time.Sleep(time.Minute)
		r.execute("ALTER TABLE elsewhere RENAME TO compactions")
		time.Sleep(time.Minute)
		for _, where := range places {
			r.waitIdle(where)
		}
		check.EqualAll(t, "warnings, ends, and stuck conversations", []int{log.count("level=WARN"), log.count("conversations_recovered"), r.hub.Stats().Stuck}, []int{1, 1, 0})
		check.Len(t, "requests", r.model.Requests(), 3)
	})
}

// A model server that fails everywhere is one incident; so is one failing conversation.
func TestTurnFailuresAreIncidents(t *testing.T) {
	for name, c := range map[string]struct {
		failure  error
		fails    string // conversations
		warnings int    // including a first one for the server, if the failure could be its fault
	}{
		"an outage":                       {&llm.Error{Kind: llm.KindAuth, Status: 401}, "a b c", 1},
		"a request that is refused":       {&llm.Error{Kind: llm.KindBadRequest, Status: 400}, "a", 1},
		"a failure that is no provider's": {errors.New("something else"), "a", 1},
		"one that looks like an outage":   {&llm.Error{Kind: llm.KindUnreachable}, "a", 2},
	} {
		fails := c.fails
		r := newRig(t, nil)
		r.agent.Model = learningModel{&llmtest.Model{Func: func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
			_, asked, _ := strings.Cut(lastText(req), "asked in ")
			if strings.Contains(fails, asked[:1]) {
				return llm.Response{}, c.failure
			}
			return llmtest.Say("an answer; by the way, 401 Unauthorized is an HTTP status"), nil
		}}, new(llm.Learned)}
		log := r.captureLog()
		ask := func(places string) {
			for _, place := range strings.Fields(places) {
				r.tell("test:server/"+place, "asked in "+place, addressed)
			}
		}
		ask("a b c a b c a b c a b c")
		check.Equal(t, name+": warnings", log.lines(slog.LevelWarn, ""), c.warnings)
		fails = "-"
		ask("b a c")
		check.Equal(t, name+": ends of incidents", log.lines(slog.LevelInfo, "turns_recovered"), c.warnings)
		fails = c.fails
		ask("a")
		check.Equal(t, name+": warnings with the next incident", log.lines(slog.LevelWarn, ""), c.warnings+1)
	}
}

func TestRejectedToolsAreReported(t *testing.T) {
	poisoned := func(m llm.Message) bool { return len(m.Calls) > 0 || m.Role == llm.RoleTool || len(m.Native) > 0 }
	moved := false
	down := false
	refused := 0 // moved: the conversation has another model; down: that model accepts nothing at all
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		switch {
		case down || moved && slices.ContainsFunc(req.Messages, poisoned):
			refused++
			return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "tool_call_id must match ^[a-zA-Z0-9]{9}$"}
		case !moved && strings.Contains(lastText(req), "look up"):
			return useTool("recall", map[string]any{"query": "tea"}), nil
		}
		return echo(ctx, n, req)
	})
	r.ask("I like green tea")
	r.ask("look up the tea")
	moved = true
	for range 3 {
		r.ask("and now?")
	}
	check.Equal(t, "refused requests", refused, 1)
	failed := slices.ContainsFunc(r.connector.sent, func(p channel.Piece) bool { return p.Failure })
	check.That(t, !failed, "got sent %+v", r.connector.sent)
	check.Contains(t, "request", r.lastRequestText(), `<tool_result tool="recall">`)

	// A request that is also refused as text is not repeated, and the next turn tries it unchanged.
	down = true
	r.ask("hello?")
	check.Equal(t, "refused requests", refused, 2)
	check.That(t, r.connector.sent[len(r.connector.sent)-1].Failure, "got %q", r.lastText())
	down = false
	moved = false
	r.ask("hello again")
	all := r.model.Requests()
	check.That(t, slices.ContainsFunc(all[len(all)-1].Messages, poisoned), "got calls rendered as text")
}

// stepLog records how steps end, and what happens in them.
type stepLog struct{ check.Buffer }

func (w *stepLog) Begin(ctx context.Context, _ *observe.Step) context.Context { return ctx }

func (w *stepLog) Event(s *observe.Step, name string, attrs []slog.Attr) {
	fmt.Fprintf(w, "%s in %s of %s: %s\n", name, s.Kind, s.Conversation, attrs[0])
}

func (w *stepLog) End(s *observe.Step) {
	if s.Kind != observe.Turn {
		return
	}
	class := ""
	if s.Err != nil {
		class = ": " + channel.FailureClass(s.Err)
	}
	fmt.Fprintf(w, "turn %s%s\n", s.Attr("outcome"), class)
}

func TestTurnsAreObserved(t *testing.T) {
	var w stepLog
	r := newRig(t, echo)
	r.opts.Observers = []observe.Observer{&w}
	r.reopen()
	r.ask("hello")
	for _, failure := range []error{&llm.Error{Kind: llm.KindAuth}, llm.ErrTooManyCalls, errors.New("boom")} {
		r.model.Func = failing(failure)
		r.ask("hello")
	}
	r.run("/pause")
	r.ask("hello")
	check.Equal(t, "turns", w.String(), "turn answered\nturn failed: auth\nturn failed: no_answer\nturn failed: other\nturn passed\n")
	// Every error has a class.
	all := []error{errors.New("x"), compactor.ErrSpent, compactor.ErrTooLarge, llm.ErrTooManyCalls, llm.ErrTooLong, context.Canceled}
	for _, err := range append(all, storetest.Map(llm.Kinds, func(k llm.Kind) error { return fmt.Errorf("wrapped: %w", &llm.Error{Kind: k}) })...) {
		class := channel.FailureClass(err)
		check.That(t, slices.Contains(channel.FailureClasses(), class) && (class != "other" || llm.KindOf(err) == ""),
			"%v: got class %q", err, class)
	}
}
