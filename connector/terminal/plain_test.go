package terminal

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel/access"
	"cairn/compactor"
	"cairn/llm"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
	"cairn/testkit/wordstest"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	t.Run("messages are answered one after the other, commands too, and nothing else is on the output", func(t *testing.T) {
		var s *session
		const input = "\ufeffone\n\n   \n/usr/bin is full\n//contxt\nAda moved to Turin in May.\n/contxt\n/recap\n/\n/quit\nnever read\n"
		s = open(t, Options{In: strings.NewReader(input)}, scripted(func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			check.Equal(t, fmt.Sprintf("answers before request %d", n), strings.Count(s.out.String(), "\n"), n-1)
			return echo(ctx, n, req)
		}))
		check.NoError(t, s.run(t))
		out := s.out.String()
		check.HasPrefix(t, "output", out, "you said one\nyou said /usr/bin is full\nyou said /contxt\nyou said Ada moved to Turin in May.\n")
		inOrder(t, out, "you said Ada moved", "Ada moved to Turin", "Made without a model", "/compact [focus] ")
		check.Lacks(t, "output", out, "never read", "one moment")
		check.HasPrefix(t, "the error stream", s.err.String(), "cairn: There is no command /contxt. Did you mean /context?")
	})
	s := talk(t, Options{}, "hello\n", says("\x1b]52;c;x\x07red \u009b2J\u202eok\tend"))
	check.Equal(t, "what a stranger wrote, for a terminal behind the pipe", s.out.String(), "]52;c;xred 2Jok\tend\n")
	s = talk(t, Options{}, "/pause\none\n/resume\ntwo\n", echo)
	check.Equal(t, "the output during a pause", s.out.String(), "I am paused here until /resume. I keep listening.\nI am answering again.\nyou said two\n")
	check.Equal(t, "the error stream, which says why", s.err.String(), "I am still paused here; /resume ends the pause.\n")
	s = talk(t, Options{}, "one\n", refuses)
	check.Equal(t, "the output after a failure", s.out.String(), "")
	check.Contains(t, "the error stream", s.err.String(), "rejects my API key")
	check.Lacks(t, "the error stream", s.err.String(), "internal")
	check.Contains(t, "a pipe asks for no approval", talk(t, Options{}, "please add\n", channeltest.Add).out.String(), "there is no one to ask here")
	s = open(t, Options{In: strings.NewReader("one\n")}, scripted(echo)) // where the bot only listens, it says so
	s.hub.Renew(access.Rules{Respond: func(string) access.Respond { return access.RespondNever }})
	check.NoError(t, s.run(t))
	check.Equal(t, "both outputs", s.out.String()+s.err.String(), "I do not answer here.\n")
}

func refuses(context.Context, int, llm.Request) (llm.Response, error) {
	return llm.Response{}, &llm.Error{Kind: llm.KindAuth, Status: 401, Message: "internal words"}
}

func TestPlainEnds(t *testing.T) {
	t.Parallel()
	t.Run("a long line is taken whole, one that is too long is refused in words", func(t *testing.T) {
		long := strings.Repeat("word ", 14_000) // more than a buffer
		s := talk(t, Options{}, long+"\n"+strings.Repeat("x", maxLine+1)+"\nafter\n", says("yes"))
		check.Equal(t, "the output", s.out.String(), "yes\nyes\n")
		check.Contains(t, "the errors", s.err.String(), "longer than 4 MB")
		messages := s.messages(t, "terminal:general")
		check.Len(t, "messages", messages, 4)
		check.Equal(t, "the first", strings.TrimSpace(messages[0].Text), strings.TrimSpace(long))
	})
	t.Run("an error stream that cannot be written does not keep the run from its end", func(t *testing.T) {
		talk(t, Options{Out: io.Discard, Err: failing{}}, "hello\n", refuses)
	})
	t.Run("a message that could not be written is told in a sentence, and ends the run", func(t *testing.T) {
		s := open(t, Options{}, scripted(echo))
		check.NoError(t, s.hub.Idle(t.Context(), "terminal:general"))
		s.lose(t)
		p := s.connector.mode.(*plain)
		p.client = client{Here(s.hub, s.log), s.log}
		check.ErrorContains(t, "the result", p.say(t.Context(), typed{text: "hello"}), "was not accepted. Send it again later.")
		s.logged.wait(t, "database is closed")
	})
	t.Run("an end from outside ends the run, though the input goes on", func(t *testing.T) {
		in, _ := io.Pipe()
		s := open(t, Options{In: in}, scripted(echo))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		check.Error(t, s.connector.Run(ctx, Here(s.hub, s.log), s.log), context.Canceled)
		_ = in.Close()
	})
	t.Run("the next start answers what was left, and only this channel's", func(t *testing.T) {
		s := open(t, Options{In: strings.NewReader("now\n")}, scripted(echo))
		for _, name := range []string{"terminal:general", "terminal:other"} {
			storetest.DeliverOnly(t, storetest.Find(t, s.store, name), storetest.Asking(1, "left in "+name))
		}
		check.NoError(t, s.run(t))
		check.Equal(t, "the output", s.out.String(), "you said left in terminal:general\nyou said now\n")
	})
}

func TestStatus(t *testing.T) {
	shows := func(state compactor.EventState, after int, want string) {
		t.Helper()
		event := compactor.Event{State: state, From: 1, To: 9, BeforeTokens: 3400, AfterTokens: after, Window: 4000}
		event.Error = "the model is away; nothing was lost"
		check.Equal(t, string(state), status("en", event), want)
	}
	shows(compactor.EventStarted, 0, "")
	shows(compactor.EventApplied, 1200, "· compacted messages 1 to 9: 3400 → 1200 tokens (30 %)")
	shows(compactor.EventApplied, 3426, "· summarized messages 1 to 9") // of an earlier session
	shows(compactor.EventFailed, 0, "· could not compact messages 1 to 9: the model is away; nothing was lost")
	shows(compactor.EventNoop, 0, "")
	shows(compactor.EventPrepared, 0, "")
	stopped := compactor.Event{State: compactor.EventFailed, From: 1, To: 9, Error: "stopped before the summary was ready; nothing was lost", Stopped: true}
	check.Equal(t, "a summary that the end of the program stops", status("en", stopped), "")
	set := []compactor.Summary{
		{ID: 5, Kind: compactor.Rollup, Span: compactor.Span{From: 1, To: 20}},
		{ID: 3, Kind: compactor.Leaf, Span: compactor.Span{From: 4, To: 9}},
		{ID: 4, Kind: compactor.Leaf, Span: compactor.Span{From: 10, To: 20}},
	}
	var lines []string
	for _, row := range set {
		event := compactor.Event{ID: row.ID, State: compactor.EventApplied, From: row.From, To: row.To, BeforeTokens: 3400, AfterTokens: 1200, Window: 4000, Set: set}
		lines = append(lines, status("en", event))
	}
	check.EqualAll(t, "what was applied together", lines, []string{"· compacted 2 spans, #4 to #20: 3400 → 1200 tokens (30 %)", "", ""})
	check.Equal(t, "in German", status("de", compactor.Event{State: compactor.EventFailed, From: 1, To: 9, Error: "the model is overloaded; nothing was lost"}),
		"· Nachrichten 1 bis 9 ließen sich nicht zusammenfassen: das Modell ist überlastet; nichts ist verloren")
}

// People read once why compactions fail, until a model makes a summary again.
func TestFailuresAreNotRepeated(t *testing.T) {
	event := func(state compactor.EventState, trigger compactor.Trigger, by compactor.By, err string) compactor.Event {
		return compactor.Event{State: state, Trigger: trigger, By: by, From: 1, To: 9, Error: err}
	}
	const auto = compactor.OnBackground
	var notes []string
	s := spectator{print: func(text string) { notes = append(notes, text) }}
	for _, step := range []struct {
		is    string
		event compactor.Event
		shown int
	}{
		{"the first start", event(compactor.EventStarted, auto, compactor.ByWorker, ""), 0},
		{"the first failure", event(compactor.EventFailed, auto, compactor.ByWorker, "overloaded"), 1},
		{"another attempt", event(compactor.EventStarted, auto, compactor.ByWorker, ""), 0},
		{"which fails too", event(compactor.EventFailed, auto, compactor.ByWorker, "overloaded"), 0},
		{"an extract", event(compactor.EventApplied, auto, compactor.ByExtractive, ""), 1},
		{"the same failure afterwards", event(compactor.EventFailed, auto, compactor.ByWorker, "overloaded"), 0},
		{"another cause", event(compactor.EventFailed, auto, compactor.ByWorker, "refused"), 1},
		{"what a person requested", event(compactor.EventFailed, compactor.OnManual, compactor.ByWorker, "refused"), 1},
		{"a summary of a model", event(compactor.EventApplied, auto, compactor.ByWorker, ""), 1},
		{"a failure after it", event(compactor.EventFailed, auto, compactor.ByWorker, "refused"), 1},
	} {
		notes = nil
		s.Compaction("terminal:general", step.event)
		check.Len(t, step.is, notes, step.shown)
	}
	notes = nil
	s.Compaction("terminal:other", event(compactor.EventFailed, auto, compactor.ByWorker, "refused"))
	check.Len(t, "the same failure in another conversation", notes, 1)
}

// An import does not run the connector, which observes its compactions all the same.
func TestNotesOfAConnectorThatDoesNotRun(t *testing.T) {
	var notes strings.Builder
	connector := check.Must(New(Options{In: strings.NewReader(""), Out: io.Discard, Err: &notes, Channel: "general", User: "Ada"}))(t)
	connector.Compaction("terminal:past", compactor.Event{State: compactor.EventApplied, From: 1, To: 9})
	check.Equal(t, "notes", notes.String(), "· summarized messages 1 to 9\n")
}

func TestNames(t *testing.T) {
	for _, o := range []Options{
		{User: "Ada"},
		{Channel: "  ", User: "Ada"},
		{Channel: "a\nb", User: "Ada"},
		{Channel: strings.Repeat("x", 101), User: "Ada"},
		{Channel: "a\xff", User: "Ada"},
		{Channel: "general"},
		{Channel: "general", User: "A\x1b[2J"},
	} {
		check.That(t, check.ErrorOf(New(o)) != nil, "%+v was accepted", o)
	}
	for _, name := range []string{"general", "terminal:general"} {
		check.Equal(t, name, check.Must(Conversation(name))(t), "terminal:general")
	}
}

func TestReadLine(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	input := "one\r\n\ntwo \xff\xfe\n" + long + "\n" + long + "y\nlast"
	got := slices.Collect(Lines(t.Context(), strings.NewReader(input)))
	check.EqualAll(t, "lines", got, []Line{{1, "one", nil}, {2, "", nil}, {3, "two \uFFFD", nil}, {4, "", ErrTooLong}, {5, "", ErrTooLong}, {6, "last", nil}})
	var last Line // of a reader that fails
	for last = range Lines(t.Context(), io.MultiReader(strings.NewReader("a\n"), failing{})) {
	}
	check.That(t, last.Err != nil && last.Err != ErrTooLong, "got %v", last)
}

// FuzzRequest parses any line of the protocol: it is rejected with a message, or has everything a message needs.
func FuzzRequest(f *testing.F) {
	for _, text := range append(wordstest.Texts(), "hello", "/stop", " ") {
		quoted, _ := json.Marshal(text)
		f.Add(`{"text":` + string(quoted) + `,"user":` + string(quoted) + `,"channel":"c","id":"1"}`)
		f.Add(text)
	}
	f.Add(`{"channel":"general","user":"Ada","text":"hello","id":"42","time":"2026-01-31T15:04:05Z","mention":true,"dm":false}`)
	f.Add(`{"text":"a","time":null,"mention":null,"id":"\ud800"}`)
	p := newProtocol(Options{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Channel: "general", User: "Ada"})
	f.Fuzz(func(t *testing.T, text string) {
		r, err := p.parse(Line{Number: 1, Text: strings.ToValidUTF8(text, "\ufffd")})
		if err != nil {
			check.Require(t, err.Error() != "", "no words")
			return
		}
		m := r.inbound()
		check.Require(t, m.ID != "" && m.Author != "" && strings.TrimSpace(m.Text) != "" && !m.Time.IsZero() && strings.HasPrefix(r.conversation, prefix) &&
			checkName("", m.ID) == nil && checkName("", m.Author) == nil && checkName("", r.Channel) == nil, "%q: got %+v", text, r)
	})
}

type failing struct{}

func (failing) Read([]byte) (int, error)  { return 0, io.ErrUnexpectedEOF }
func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// says is a model with one answer.
func says(text string) answer {
	return func(context.Context, int, llm.Request) (llm.Response, error) { return llmtest.Say(text), nil }
}
