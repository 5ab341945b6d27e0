package channel_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/openai"
	"cairn/llm/provider"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// modelNamed returns a real client of a model on a server of its own, in memory, so that it works in a bubble.
func modelNamed(t testing.TB, name string, server *llmtest.Server, window int) llm.Model {
	return check.Must(openai.New(server.Options(provider.Options{
		BaseURL: "http://" + name + ".test/v1", Model: name, Wire: llm.WireChat, Window: window, Notebook: new(llm.Notebook),
	})))(t)
}

// withFallback gives the agent a model with the name own, and others, each on a server.
func (r *rig) withFallback(own *llmtest.Server, others ...*llmtest.Server) *rig {
	r.agent.Model = modelNamed(r.t, "own", own, 50_000)
	r.agent.Fallback = nil
	for i, server := range others {
		r.agent.Fallback = append(r.agent.Fallback, modelNamed(r.t, fmt.Sprint("other-", i+1), server, 50_000))
	}
	r.reopen()
	return r
}

func saying(text string) func(*llmtest.Exchange) { return func(x *llmtest.Exchange) { x.Say(text) } }

func refusing(status int, body string) func(*llmtest.Exchange) {
	return func(x *llmtest.Exchange) { x.Refuse(status, "", body) }
}

// breaking ends a stream after its first text.
func breaking(text string) func(*llmtest.Exchange) {
	return func(x *llmtest.Exchange) { x.Piece(text) }
}

const (
	wrongKey = `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`
	noCredit = `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`
	noModel  = `{"error":{"message":"The model 'own' does not exist","code":"model_not_found"}}`
	refused  = `{"error":{"message":"messages: unexpected value"}}`
	flagged  = `{"error":{"message":"blocked","code":"content_filter"}}`
	tooLong  = `{"error":{"message":"maximum context length is 900 tokens","code":"context_length_exceeded"}}`
)

func TestFallbackAnswersIfTheServerFails(t *testing.T) {
	for name, c := range map[string]struct {
		script func(*llmtest.Exchange)
		moves  bool
	}{
		"a wrong key":               {refusing(401, wrongKey), true},
		"an account without credit": {refusing(429, noCredit), true},
		"a model that is gone":      {refusing(404, noModel), true},
		"too many requests":         {refusing(429, ""), true},
		"a server with problems":    {refusing(503, ""), true},
		"a broken stream":           {breaking("The harbour wall"), true},
		"an invalid request":        {refusing(400, refused), false},
		"a prompt that is refused":  {refusing(400, flagged), false},
		"a prompt that is too long": {refusing(400, tooLong), false},
	} {
		own := llmtest.Serve(t, c.script)
		other := llmtest.Serve(t, saying("The other answers."))
		r := newRig(t, nil).withFallback(own, other)
		log := r.captureLog()
		said := r.ask("Tell me of the harbour.")
		check.Equal(t, name+": the other answers", said == "The other answers.", c.moves)
		check.Equal(t, name+": warnings of the own model", log.lines(slog.LevelWarn, "msg=answer_model_failed"), map[bool]int{true: 1}[c.moves])
		check.Equal(t, name+": failed turns", r.hub.Stats().Failed, map[bool]int64{false: 1}[c.moves])
		if !c.moves {
			check.Len(t, name+": requests to the other", other.Requests(), 0)
			continue
		}
		check.Len(t, name+": requests to the own", own.Requests(), 1)
		asked := len(own.Requests())
		check.Equal(t, name+": the next turn", r.ask("And now?"), "The other answers.")
		check.Len(t, name+": requests to the own, while it rests", own.Requests(), asked)
		check.EqualAll(t, name+": transcript", r.transcript(), []string{
			"user: Tell me of the harbour.", "assistant: The other answers.", "user: And now?", "assistant: The other answers.",
		})
		check.Contains(t, name+": usage", strings.Join(r.usageRows(), "\n"), "turn other-1 2 ")
		check.Len(t, name+": refused by the double", slices.Concat(own.Refusals(), other.Refusals()), 0)
	}
}

// What people saw of an answer that broke off goes when the other model answers, and stays if none does.
func TestTextOfABrokenAnswer(t *testing.T) {
	r := newRig(t, nil)
	own := llmtest.Serve(t, func(x *llmtest.Exchange) {
		x.Piece("The harbour wall")
		shown := func() (some bool) {
			r.connector.note(func() { some = len(r.connector.shown) > 0 })
			return some
		}
		check.That(t, check.Soon(shown), "the text is not shown")
	})
	r.withFallback(own, llmtest.Serve(t, saying("All of it.")))
	r.ask("Tell me of the harbour.")
	check.EqualAll(t, "sent", r.connector.texts(), []string{"All of it."})
	check.Contains(t, "shown", strings.Join(r.connector.seen, "\n"), "shown The harbour wall", "sent All of it.")
	check.Equal(t, "answers taken back", r.connector.canceled, 1)

	r = newRig(t, nil).withFallback(llmtest.Serve(t, breaking("The harbour wall")), llmtest.Serve(t, refusing(401, wrongKey)))
	r.ask("Tell me of the harbour.")
	check.EqualAll(t, "sent, if no model answers", r.connector.texts(), []string{"The harbour wall" + brokeOff})
	r = newRig(t, nil).withFallback(llmtest.Serve(t, refusing(401, wrongKey)), llmtest.Serve(t, breaking("The harbour wall")))
	r.ask("Tell me of the harbour.")
	check.EqualAll(t, "sent, if the other breaks off", r.connector.texts(), []string{"The harbour wall" + brokeOff})
}

// While an answer is still being sent, the first words of the next one come, and no more for a while: people see them once it is sent.
func TestFirstWordsAreShownOnceTheAnswerBeforeIsSent(t *testing.T) {
	r := newRig(t, nil)
	r.connector.delay = 300 * time.Millisecond
	shown := func() (texts []string) {
		r.connector.note(func() { texts = slices.Clone(r.connector.seen) })
		return texts
	}
	var asked atomic.Int32
	own := llmtest.Serve(t, func(x *llmtest.Exchange) {
		if asked.Add(1) == 1 {
			x.Say("One.")
			return
		}
		x.Piece("The harbour")
		check.That(t, check.Soon(func() bool { return slices.Contains(shown(), "shown The harbour") }), "the text is not shown")
		x.Piece(" wall")
		x.Finish("stop")
		x.Done()
	})
	r.withFallback(own)
	r.say("the first", true)
	check.Require(t, check.Soon(func() bool { return len(r.transcript()) == 2 }), "the first is not answered")
	r.ask("the second")
	check.EqualAll(t, "sent", r.connector.texts(), []string{"One.", "The harbour wall"})
}

func TestFailureOfAllModelsNamesTheFirst(t *testing.T) {
	own := llmtest.Serve(t, refusing(401, wrongKey))
	first := llmtest.Serve(t, refusing(503, ""))
	second := llmtest.Serve(t, refusing(503, ""))
	r := newRig(t, nil).withFallback(own, first, second)
	log := r.captureLog()
	for n := range 2 {
		check.Contains(t, "reply", r.ask("hello"), "rejects my API key")
		for _, server := range []*llmtest.Server{own, first, second} {
			check.Len(t, "requests", server.Requests(), n+1)
		}
	}
	check.Equal(t, "warnings of the models", log.lines(slog.LevelWarn, "answer_model_failed"), 3)
	check.Equal(t, "warnings of turns", log.lines(slog.LevelWarn, "turn_failed"), 1)
	check.Equal(t, "failing turns", r.hub.Stats().Failing, 2)
	check.EqualAll(t, "transcript", r.transcript(), []string{"user: hello", "user: hello"})
}

func TestFirstModelComesBack(t *testing.T) {
	var down atomic.Bool
	down.Store(true)
	own := llmtest.Serve(t, func(x *llmtest.Exchange) {
		if down.Load() {
			x.Refuse(503, "", "")
			return
		}
		x.Say("The own model answers.")
	})
	other := llmtest.Serve(t, saying("The other answers."))
	inBubble(t, nil, func(t *testing.T, r *rig) {
		log := r.withFallback(own, other).captureLog()
		after := func(pause time.Duration, requests int, says string) {
			t.Helper()
			time.Sleep(pause)
			check.Equal(t, "reply", r.ask("hello"), says)
			check.Len(t, "requests to the own model", own.Requests(), requests)
		}
		after(0, 1, "The other answers.")
		after(59*time.Second, 1, "The other answers.")
		after(time.Second, 2, "The other answers.")
		r.wantAnswer("/context", "fallback  other-1 answers: the model is overloaded; own is tried again in 2 minutes")
		after(time.Minute, 2, "The other answers.")
		after(time.Minute, 3, "The other answers.")
		for n := range 3 { // after 4, 8 and 10 minutes
			after([]time.Duration{4, 8, 10}[n]*time.Minute, 4+n, "The other answers.")
		}
		down.Store(false)
		after(10*time.Minute, 7, "The own model answers.")
		after(0, 8, "The own model answers.")
		check.Lacks(t, "/context", r.run("/context"), "fallback")
		check.Equal(t, "warnings", log.lines(slog.LevelWarn, ""), 1)
		check.Equal(t, "recovered", log.lines(slog.LevelInfo, "answer_model_recovered"), 1)
		down.Store(true)
		after(0, 9, "The other answers.")
		after(time.Minute, 10, "The other answers.") // a minute again
	})
}

func TestFallbackWithASmallWindowIsSkipped(t *testing.T) {
	own := llmtest.Serve(t, refusing(503, ""))
	small := llmtest.Serve(t, saying("I am small."))
	large := llmtest.Serve(t, saying("I am large."))
	r := newRig(t, nil).withFallback(own, small, large)
	r.agent.Fallback[0] = modelNamed(t, "small", small, 3000)
	log := r.captureLog()
	check.Equal(t, "reply", r.ask("hello "+strings.Repeat("the tea of the north pier is cold ", 500)), "I am large.")
	check.Len(t, "requests to the small model", small.Requests(), 0)
	check.Equal(t, "warnings", log.lines(slog.LevelWarn, "fallback_too_small .*model=small"), 1)
	r.agent.Fallback = r.agent.Fallback[:1]
	r.reopen()
	check.Contains(t, "reply if no other model is there", r.ask("And now?"), "overloaded")
	check.Len(t, "requests to the small model", small.Requests(), 0)
}

// The tools of the model that fails run again for the other one, as in any other attempt, and nothing of it is stored twice.
func TestFallbackBeginsTheTurnAgain(t *testing.T) {
	own := llmtest.Serve(t, func(x *llmtest.Exchange) {
		if x.N == 1 {
			x.Think("hm")
			x.Use("1", "recall", `{"query":"tea"}`)
			return
		}
		x.Refuse(500, "", "")
	})
	other := llmtest.Serve(t, func(x *llmtest.Exchange) {
		if x.N == 1 {
			x.Use("1", "recall", `{"query":"the pier"}`)
			return
		}
		x.Say("Cold.")
	})
	r := newRig(t, nil).withFallback(own, other)
	check.Equal(t, "reply", r.ask("How is the tea?"), "Cold.")
	check.Len(t, "messages: question, call, result, answer", r.messagesIn(place), 4)
	for _, req := range other.Requests() {
		check.Lacks(t, "request to the other", fmt.Sprint(req.Messages), `"tea"`)
	}
}

// An agent that is asked by its id has a fallback of its own.
func TestFallbackOfAnAgentThatIsAsked(t *testing.T) {
	r := newRig(t, echo)
	critic := channel.Agent{
		ID: "critic", MaxOutput: 500, Policy: r.agent.Policy,
		Model:    modelNamed(t, "own", llmtest.Serve(t, refusing(401, wrongKey)), 50_000),
		Fallback: []llm.Model{modelNamed(t, "other", llmtest.Serve(t, saying("Too long.")), 50_000)},
	}
	r.opts.Agents = func(id string) (channel.Agent, bool) { return critic, id == critic.ID }
	r.reopen()
	check.Equal(t, "reply", r.ask("@critic what of my text?"), "critic: Too long.")
	check.Contains(t, "usage", strings.Join(r.usageRows(), "\n"), "turn other 1 ")
	check.Equal(t, "the conversation's agent", r.ask("hello"), "answer 1")
}
