// How long a model waits, how often it retries, and when it does not, on every protocol.

package llm_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

func TestTemporaryFailuresAreRetried(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		t.Parallel()
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
			"an error in a stream": {func(x *llmtest.Exchange) { x.Fail("upstream") }, false, 3, llm.KindOverloaded},

			"a wrong key":                   {func(x *llmtest.Exchange) { x.Refuse(401, "", "who are you") }, true, 1, llm.KindAuth},
			"a server that takes no tools":  {func(x *llmtest.Exchange) { x.Refuse(500, "", "tools param requires --jinja flag") }, true, 1, llm.KindBadRequest},
			"text that was shown":           {func(x *llmtest.Exchange) { x.Piece("ha"); x.Cut() }, true, 1, llm.KindTruncated},
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

func TestSilentServerIsUnreachable(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		t.Parallel()
		for name, answer := range map[string]func(*llmtest.Exchange){
			"before the answer":          func(x *llmtest.Exchange) { x.Wait(20 * time.Second) },
			"in the middle":              func(x *llmtest.Exchange) { x.Piece("half "); x.Wait(20 * time.Second) },
			"in the middle of a refusal": func(x *llmtest.Exchange) { x.Refuse(200, "", `{"error"`); x.Write(" "); x.Wait(20 * time.Second) },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				server := w.open(t, answer)
				_, err := w.model(t, server, openai.Options{IdleTimeout: 50 * time.Millisecond, MaxRetries: 3}).Generate(t.Context(), hello, nil)
				check.Equal(t, "error kind", llm.KindOf(err), llm.KindUnreachable)
				check.Len(t, "requests", server.Requests(), 1)
			})
		}
		var asked atomic.Int64 // for its models
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			<-r.Context().Done()
		}))
		defer server.Close()
		model := check.Must(w.connect(openai.Options{BaseURL: server.URL, IdleTimeout: 50 * time.Millisecond, RetryDelay: time.Millisecond}))(t)
		check.Equal(t, "error kind", llm.KindOf(check.ErrorOf(model.Generate(t.Context(), hello, nil))), llm.KindUnreachable)
		check.Equal(t, "requests", asked.Load(), 1)
	})
}

func TestAnswerTimeout(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		t.Parallel()
		for name, answer := range map[string]func(*llmtest.Exchange){
			"however slowly it comes": func(x *llmtest.Exchange) {
				for x.Wait(10 * time.Millisecond) {
					x.Piece("ha")
				}
			},
			"however long the provider asks to wait": func(x *llmtest.Exchange) { x.Refuse(429, "30", "later") },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				server := w.open(t, answer)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				model := w.model(t, server, openai.Options{MaxTime: 200 * time.Millisecond, MaxRetries: 3})
				_, err := model.Generate(ctx, hello, nil)
				check.Equal(t, "error kind", llm.KindOf(err), llm.KindUnreachable)
				check.Len(t, "requests", server.Requests(), 1)
			})
		}
	})
}

func TestSlowServer(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		t.Parallel()
		const patience = 400 * time.Millisecond
		server := w.open(t, func(x *llmtest.Exchange) {
			for _, c := range ": a comment that keeps the connection alive\n\n" {
				x.Write(string(c))
				x.Wait(patience / 40)
			}
			x.Piece("who")
			x.Write(strings.Repeat(": keep-alive\n\n", 500))
			x.Say("le")
		})
		started := time.Now()
		resp, err := w.model(t, server, openai.Options{IdleTimeout: patience}).Generate(t.Context(), hello, nil)
		check.Require(t, err == nil && resp.Message.Text == "whole", "got %q, %v", resp.Message.Text, err)
		check.That(t, time.Since(started) >= patience, "the answer was too fast: the test proves nothing")
	})
}

func TestCallerCancelIsNoProviderFailure(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		t.Parallel()
		for name, answer := range map[string]func(*llmtest.Exchange){
			"while it waits for the first word": func(x *llmtest.Exchange) { x.Wait(20 * time.Second) },
			"while the answer comes":            func(x *llmtest.Exchange) { x.Piece("ha"); x.Wait(20 * time.Second) },
			"between two attempts":              func(x *llmtest.Exchange) { x.Refuse(429, "20", "wait") },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				model := w.model(t, w.open(t, answer), openai.Options{MaxRetries: 5})
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(50*time.Millisecond, cancel)
				_, err := model.Generate(ctx, hello, nil)
				check.That(t, errors.Is(err, context.Canceled) && llm.KindOf(err) == "", "cancelled: got %v", err)
				ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				_, err = model.Generate(ctx, hello, nil)
				check.That(t, errors.Is(err, context.DeadlineExceeded) && llm.KindOf(err) == "", "out of time: got %v", err)
			})
		}
	})
}

func TestSilenceLimits(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		t.Parallel()
		server := w.open(t, func(x *llmtest.Exchange) {
			for range 4 {
				if !x.Wait(60 * time.Millisecond) {
					return
				}
				x.Write(": still reading\n\n")
			}
			x.Use("c", "lookup", `{"word":"fine"}`)
		})
		model := w.model(t, server, openai.Options{IdleTimeout: 30 * time.Millisecond, MaxTime: 100 * time.Millisecond})
		watched := hello
		var signs atomic.Int32
		watched.Alive = func() { signs.Add(1) }
		resp, err := model.Generate(t.Context(), watched, nil)
		if err != nil || len(resp.Message.Calls) != 1 || signs.Load() < 4 {
			t.Errorf("got %+v and %d calls of Alive, %v; want an answer and a call for each piece", resp.Message, signs.Load(), err)
		}
		check.Equal(t, "without Alive the model's own limits did not apply", llm.KindOf(check.ErrorOf(model.Generate(t.Context(), hello, nil))), llm.KindUnreachable)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		check.Error(t, check.ErrorOf(model.Generate(ctx, watched, nil)), context.DeadlineExceeded)
	})
}

// A pause that the server asks for is made, and is not the server's silence.
func TestRetryAfterIsNoSilence(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		t.Parallel()
		server := w.open(t, func(x *llmtest.Exchange) {
			if x.N == 1 {
				x.Refuse(429, "0.3", "wait")
				return
			}
			x.Wait(300 * time.Millisecond)
			x.Say("fine")
		})
		started := time.Now()
		check.NoError(t, check.ErrorOf(w.model(t, server, openai.Options{MaxRetries: 1, IdleTimeout: 500 * time.Millisecond}).Generate(t.Context(), hello, nil)))
		check.That(t, time.Since(started) >= 600*time.Millisecond, "got an answer after %v", time.Since(started))
	})
}
