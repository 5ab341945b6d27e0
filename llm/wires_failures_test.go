// Failures, how long a model waits and how often it retries, on every protocol.

package llm_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/llm"
	"cairn/llm/openai"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func TestTruncatedStreamIsError(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for name, answer := range map[string]func(*llmtest.Exchange){
			"it ends in the middle":     func(x *llmtest.Exchange) { x.Piece("half ") },
			"the connection breaks":     func(x *llmtest.Exchange) { x.Piece("half "); x.Cut() },
			"a line breaks":             func(x *llmtest.Exchange) { x.Piece("half "); x.Write(`data: {"ty`) },
			"it is no JSON":             func(x *llmtest.Exchange) { x.Piece("half "); x.Chunk("{nonsense") },
			"it ends with another wire": func(x *llmtest.Exchange) { x.Write("data: [DONE]\n\n") },
		} {
			resp, err := w.ask(t, answer)
			check.That(t, llm.KindOf(err) == llm.KindTruncated, "%s: got %q, %v", name, resp.Message.Text, err)
		}
	})
}

func TestTooLongAnswerIsRefused(t *testing.T) {
	check.SkipUnderRace(t)
	flood := strings.Repeat("word ", 2000)
	long := strings.Repeat("word ", 80_000) // 10 and 400 kB
	many := make([]llm.Call, 129)
	for i := range many {
		many[i] = llm.Call{ID: fmt.Sprint(i), Name: "note", Arguments: "{}"}
	}
	endless := func(write func(*llmtest.Exchange)) func(*llmtest.Exchange) {
		return func(x *llmtest.Exchange) {
			for x.Wait(0) {
				write(x)
			}
		}
	}
	hello := hello
	hello.MaxTokens = 20_000
	const cut = "longer than 50000 bytes" // a stream may be longer than an answer
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for name, c := range map[string]struct {
			answer func(*llmtest.Exchange)
			most   int
			want   string // in the error; "": there is none
		}{
			"text without end":               {endless(func(x *llmtest.Exchange) { x.Piece(flood) }), 50_000, cut},
			"reasoning without end":          {endless(func(x *llmtest.Exchange) { x.Think(flood) }), 50_000, cut},
			"unknown events without end":     {endless(func(x *llmtest.Exchange) { x.Event("response.new", `{"type":"response.new","novelty":%q}`, flood) }), 50_000, "longer"},
			"a line without end":             {endless(func(x *llmtest.Exchange) { x.Write("data: {" + flood) }), 50_000, cut},
			"white space without end":        {endless(func(x *llmtest.Exchange) { x.Write(strings.Repeat(" ", 10_000)) }), 50_000, cut},
			"one JSON without end":           {endless(func(x *llmtest.Exchange) { x.Write("[[[[[[[[[[[[[[[[[[[[[[[[") }), 50_000, cut},
			"comments without end":           {endless(func(x *llmtest.Exchange) { x.Write(":" + strings.Repeat("\n:", 25_000)) }), 50_000, "longer"},
			"a tool with a name like a book": {func(x *llmtest.Exchange) { x.Use("1", long, "{}") }, 50_000, cut},
			"an id like a library":           {func(x *llmtest.Exchange) { x.Use(long, "note", "{}") }, 50_000, cut},
			"too many calls":                 {func(x *llmtest.Exchange) { x.UseAll(many...) }, 0, "128 tool calls"},

			"a long text":    {func(x *llmtest.Exchange) { x.Say(long) }, 0, ""},
			"a long thought": {func(x *llmtest.Exchange) { x.Think(long); x.Say("fine") }, 0, ""},
			"long events that are not needed": {func(x *llmtest.Exchange) {
				for range 20 {
					x.Event("response.new", `{"type":"response.new","novelty":%q}`, flood)
				}
				x.Say("fine")
			}, 50_000, ""},
		} {
			server := w.open(t, c.answer)
			err := check.ErrorOf(w.model(t, server, openai.Options{MaxAnswer: c.most, MaxRetries: 3}).Generate(t.Context(), hello, nil))
			check.Equal(t, name+": too long", errors.Is(err, llm.ErrTooLong), c.want != "")
			check.Contains(t, name, fmt.Sprint(err), cmp.Or(c.want, "<nil>"))
			check.Len(t, name+": requests", server.Requests(), 1)
		}
		few := hello
		few.MaxTokens = 500 // on some wires with room for reasoning
		model := w.model(t, w.open(t, func(x *llmtest.Exchange) { x.Say(long) }), openai.Options{})
		check.Error(t, check.ErrorOf(model.Generate(t.Context(), few, nil)), llm.ErrTooLong)
	})
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for _, status := range []int{301, 307} {
			asked := 0
			client := llmtest.InMemory(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				http.Redirect(w, r, "http://other.invalid/v1/elsewhere?key=hush", status)
			}))
			model := check.Must(w.connect(openai.Options{Model: "m", APIKey: "secret", HTTPClient: client}))(t)
			for what, err := range map[string]error{
				"an answer": check.ErrorOf(model.Generate(t.Context(), hello, nil)), "the list": check.ErrorOf(model.(interface {
					Models(ctx context.Context) ([]llm.Offered, error)
				}).Models(t.Context())),
			} {
				check.Equal(t, what, llm.KindOf(err), llm.KindWrongAddress)
				check.Lacks(t, what, fmt.Sprint(err), "hush")
			}
			check.Equal(t, "requests", asked, 2)
		}
	})
}

func TestAddressIsValidated(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for _, address := range []string{"localhost:8080", "ftp://host/v1", "http://", "http://[::1", "v1", "http://host/v1?key=hush"} {
			shown, _, _ := strings.Cut(address, "?")
			err := check.ErrorOf(w.connect(openai.Options{BaseURL: address}))
			check.ErrorContains(t, address, err, strconv.Quote(shown), "must be an address like", "without a query")
			check.Lacks(t, address, err.Error(), "hush")
		}
		host := "api.openai.com"
		if w.name == llm.WireMessages {
			host = "api.anthropic.com"
		}
		check.Equal(t, "without an address", check.Must(w.connect(openai.Options{}))(t).Name(), host)
	})
}

// If no model is set, the list of models is the first request.
func TestListThatIsNone(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for list, kind := range map[string]llm.Kind{
			"<html>Open WebUI</html>":                                  llm.KindWrongAddress,
			`{"error":"Unexpected endpoint or method. (GET /models)"}`: llm.KindWrongAddress,
			`{"data":[`:   llm.KindTruncated,
			`{"data":[]}`: llm.KindUnknownModel,
			`["a","b"]`:   llm.KindUnknownModel,
			`{"data":[{"id":"text-embedding-3-small"}]}`: llm.KindUnknownModel,
		} {
			server := w.open(t, func(x *llmtest.Exchange) { x.Say("hello") })
			server.Tell("/v1/models", list)
			model := check.Must(w.connect(openai.Options{BaseURL: server.URL, MaxRetries: -1}))(t)
			check.Equal(t, list, llm.KindOf(check.ErrorOf(model.Generate(t.Context(), hello, nil))), kind)
		}
	})
}

func TestTemporaryFailuresAreRetried(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for name, c := range map[string]struct {
			answer   func(*llmtest.Exchange)
			show     bool
			requests int      // of three at most
			kind     llm.Kind // in the end
		}{
			"rate limited":         {func(x *llmtest.Exchange) { x.Refuse(429, "0.01", `{"error":{"message":"slow down"}}`) }, true, 3, llm.KindRateLimited},
			"overloaded":           {func(x *llmtest.Exchange) { x.Refuse(503, "", "busy") }, true, 3, llm.KindOverloaded},
			"a connection reset":   {func(x *llmtest.Exchange) { x.Reset() }, true, 3, llm.KindUnreachable},
			"a stream cut short":   {func(x *llmtest.Exchange) { x.Piece("ha"); x.Cut() }, false, 3, llm.KindTruncated},
			"an error in a stream": {func(x *llmtest.Exchange) { x.Piece("ha"); x.Fail("no"); x.Wait(time.Second) }, false, 3, llm.KindOverloaded}, // which is seen at once

			"a wrong key":                  {func(x *llmtest.Exchange) { x.Refuse(401, "", "who are you") }, true, 1, llm.KindAuth},
			"a server that takes no tools": {func(x *llmtest.Exchange) { x.Refuse(500, "", "tools param requires --jinja flag") }, true, 1, llm.KindBadRequest},
			"text that was shown":          {func(x *llmtest.Exchange) { x.Piece("ha"); x.Cut() }, true, 1, llm.KindTruncated},
			"a prompt that is too long": {func(x *llmtest.Exchange) {
				x.Reject(400, "context_length_exceeded", "the maximum context length is 2000 tokens")
			}, true, 1, llm.KindOverflow},
			"a page of something else":      {func(x *llmtest.Exchange) { x.Refuse(200, "", "<html>please log in</html>") }, true, 1, llm.KindWrongAddress},
			"a wait that is longer than us": {func(x *llmtest.Exchange) { x.Refuse(429, "120", "later") }, true, 1, llm.KindRateLimited},
		} {
			for _, recovers := range []bool{false, true} { // before the last attempt
				t.Run(fmt.Sprint(name, ", recovers: ", recovers), func(t *testing.T) {
					server := w.open(t, func(x *llmtest.Exchange) {
						if recovers && x.N == 3 {
							x.Say("fine")
							return
						}
						c.answer(x)
					})
					show := map[bool]func(string){true: func(string) {}}[c.show]
					resp, err := w.model(t, server, openai.Options{MaxRetries: 2}).Generate(t.Context(), hello, show)
					if recovers && c.requests == 3 {
						check.That(t, err == nil && resp.Message.Text == "fine", "got %q, %v", resp.Message.Text, err)
					} else {
						check.Equal(t, "error kind", llm.KindOf(err), c.kind)
					}
					check.Len(t, "requests", server.Requests(), c.requests)
				})
			}
		}
	})
}

// inBubble tests each answer on each protocol, in a bubble, with a model of these options. The answers are given in memory.
func inBubble(t *testing.T, o openai.Options, answers map[string]func(*llmtest.Exchange), test func(t *testing.T, model llm.Model, server *llmtest.Server)) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for name, answer := range answers {
			server := w.open(t, answer)
			o := o
			o.HTTPClient = llmtest.InMemory(server)
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { test(t, w.model(t, server, o), server) })
			})
		}
	})
}

func TestPatience(t *testing.T) {
	idle := openai.Options{IdleTimeout: time.Minute, MaxRetries: 3}
	late := openai.Options{MaxTime: 30 * time.Second, MaxRetries: 3}
	for name, c := range map[string]struct {
		options  openai.Options
		answer   func(*llmtest.Exchange)
		want     string // an answer, or the kind of an error
		waited   time.Duration
		requests int
	}{
		"silence before the answer":  {idle, func(x *llmtest.Exchange) { x.Wait(time.Hour) }, "unreachable", time.Minute, 1},
		"silence in the middle":      {idle, func(x *llmtest.Exchange) { x.Piece("half "); x.Wait(time.Hour) }, "truncated", time.Minute, 1},
		"silence within a refusal":   {idle, func(x *llmtest.Exchange) { x.Refuse(200, "", `{"error"`); x.Write(" "); x.Wait(time.Hour) }, "unreachable", time.Minute, 1},
		"a wait that takes too long": {late, func(x *llmtest.Exchange) { x.Refuse(429, "50", "later") }, "unreachable", 30 * time.Second, 1},
		"an answer that comes too slowly": {late, func(x *llmtest.Exchange) {
			for x.Wait(7 * time.Second) {
				x.Piece("ha")
			}
		}, "unreachable", 30 * time.Second, 1},
		"something before each pause is over, however little": {openai.Options{IdleTimeout: 10 * time.Second}, func(x *llmtest.Exchange) {
			for _, c := range ": alive\n\n" {
				x.Write(string(c))
				x.Wait(10*time.Second - 1)
			}
			x.Piece("who")
			x.Write(strings.Repeat(": keep-alive\n\n", 500))
			x.Say("le")
		}, "whole", 90 * time.Second, 1},
		"a pause that the server asks for, which is no silence": {openai.Options{MaxRetries: 1, IdleTimeout: 5 * time.Second}, func(x *llmtest.Exchange) {
			if x.N == 1 {
				x.Refuse(429, "30", "wait")
				return
			}
			x.Wait(3 * time.Second)
			x.Say("fine")
		}, "fine", 33 * time.Second, 2},
	} {
		inBubble(t, c.options, map[string]func(*llmtest.Exchange){name: c.answer}, func(t *testing.T, model llm.Model, server *llmtest.Server) {
			started := time.Now()
			resp, err := model.Generate(t.Context(), hello, nil)
			check.Equal(t, "outcome", cmp.Or(string(llm.KindOf(err)), resp.Message.Text), c.want)
			check.Equal(t, "waited", time.Since(started).Round(time.Second), c.waited)
			check.Len(t, "requests", server.Requests(), c.requests)
		})
	}
	forEveryProtocol(t, func(t *testing.T, w wire) { // when it is asked for its models
		asked := 0
		silent := llmtest.InMemory(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked++; <-r.Context().Done() }))
		synctest.Test(t, func(t *testing.T) {
			model := check.Must(w.connect(openai.Options{IdleTimeout: time.Minute, HTTPClient: silent}))(t)
			check.Equal(t, "error kind", llm.KindOf(check.ErrorOf(model.Generate(t.Context(), hello, nil))), llm.KindUnreachable)
		})
		check.Equal(t, "requests", asked, 1)
	})
}

func TestCallerCancelIsNoProviderFailure(t *testing.T) {
	inBubble(t, openai.Options{MaxRetries: 5}, map[string]func(*llmtest.Exchange){
		"while it waits for the first word": func(x *llmtest.Exchange) { x.Wait(time.Minute) },
		"while the answer comes":            func(x *llmtest.Exchange) { x.Piece("ha"); x.Wait(time.Minute) },
		"between two attempts":              func(x *llmtest.Exchange) { x.Refuse(429, "20", "wait") },
	}, func(t *testing.T, model llm.Model, _ *llmtest.Server) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := model.Generate(ctx, hello, nil)
		check.That(t, errors.Is(err, context.Canceled) && llm.KindOf(err) == "", "cancelled: got %v", err)
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = model.Generate(ctx, hello, nil)
		check.That(t, errors.Is(err, context.DeadlineExceeded) && llm.KindOf(err) == "", "out of time: got %v", err)
	})
}

func TestSilenceLimits(t *testing.T) {
	inBubble(t, openai.Options{IdleTimeout: 3 * time.Second, MaxTime: 10 * time.Second}, map[string]func(*llmtest.Exchange){"": func(x *llmtest.Exchange) {
		for range 4 {
			if !x.Wait(6 * time.Second) {
				return
			}
			x.Write(": still reading\n\n")
		}
		x.Use("c", "lookup", `{"word":"fine"}`)
	}}, func(t *testing.T, model llm.Model, _ *llmtest.Server) {
		watched := hello
		signs := 0
		watched.Alive = func() { signs++ }
		resp, err := model.Generate(t.Context(), watched, nil)
		check.That(t, err == nil && len(resp.Message.Calls) == 1 && signs >= 4, "got %+v and %d calls of Alive, %v", resp.Message, signs, err)
		check.Equal(t, "without Alive the model's own limits did not apply", llm.KindOf(check.ErrorOf(model.Generate(t.Context(), hello, nil))), llm.KindUnreachable)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		check.Error(t, check.ErrorOf(model.Generate(ctx, watched, nil)), context.DeadlineExceeded)
	})
}
