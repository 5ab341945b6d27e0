// What may go wrong, on every wire.

package llm_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

func TestAnOverflowTellsTheWindow(t *testing.T) {
	everyWire(t, func(t *testing.T, w wire) {
		server := w.open(t, func(x *llmtest.Exchange) { x.Say("ok") })
		server.SetWindow(2000)
		model := w.model(t, server, openai.Options{Window: 8000, MaxRetries: 3})
		long := llm.Request{Messages: []llm.Message{user(strings.Repeat("many words ", 1500))}, MaxTokens: 100}
		_, err := model.Generate(t.Context(), long, nil)
		if llm.KindOf(err) != llm.KindOverflow || len(server.Requests()) > 2 { // once more without room for reasoning
			t.Errorf("got %v after %d requests", err, len(server.Requests()))
		}
		if got := model.Window(t.Context()).Tokens; got != 2000 {
			t.Errorf("the window is %d", got)
		}
	})
}

func TestACutStreamIsAnError(t *testing.T) {
	everyWire(t, func(t *testing.T, w wire) {
		for name, answer := range map[string]func(*llmtest.Exchange){
			"it ends in the middle":     func(x *llmtest.Exchange) { x.Piece("half ") },
			"the connection breaks":     func(x *llmtest.Exchange) { x.Piece("half "); x.Cut() },
			"a line breaks":             func(x *llmtest.Exchange) { x.Piece("half "); x.Write(`data: {"ty`) },
			"there is nothing":          func(x *llmtest.Exchange) { x.Write("") },
			"it ends behind reasoning":  func(x *llmtest.Exchange) { x.Think("half ") },
			"it is no JSON":             func(x *llmtest.Exchange) { x.Piece("half "); x.Chunk("{nonsense") },
			"it ends with another wire": func(x *llmtest.Exchange) { x.Write("data: [DONE]\n\n") },
		} {
			t.Run(name, func(t *testing.T) {
				if resp, err := w.ask(t, answer); llm.KindOf(err) != llm.KindTruncated {
					t.Errorf("got %q, %v", resp.Message.Text, err)
				}
			})
		}
	})
}

func TestAnErrorInTheStreamIsAnError(t *testing.T) {
	everyWire(t, func(t *testing.T, w wire) {
		requests := 0
		_, err := w.model(t, w.open(t, func(x *llmtest.Exchange) {
			requests++
			x.Piece("half ")
			x.Fail("the engine crashed")
			x.Wait(2 * time.Second) // what is not seen at once is never seen
		}), openai.Options{MaxRetries: 2}).Generate(t.Context(), hello, func(string) {})
		if llm.KindOf(err) != llm.KindOverloaded || !strings.Contains(err.Error(), "the engine crashed") || requests != 1 {
			t.Errorf("got %v after %d requests", err, requests)
		}
	})
}

func TestAServerIsAskedAgainWhenItWishes(t *testing.T) {
	everyWire(t, func(t *testing.T, w wire) {
		t.Run("soon", func(t *testing.T) {
			server := w.open(t, func(x *llmtest.Exchange) {
				if x.N == 1 {
					x.Refuse(429, "0.02", "slow down")
					return
				}
				x.Say("ok")
			})
			begun := time.Now()
			resp, err := w.model(t, server, openai.Options{MaxRetries: 1}).Generate(t.Context(), hello, nil)
			if err != nil || resp.Message.Text != "ok" || time.Since(begun) < 20*time.Millisecond {
				t.Errorf("got %q after %v, %v", resp.Message.Text, time.Since(begun), err)
			}
		})
		t.Run("not in this hour", func(t *testing.T) {
			server := w.open(t, func(x *llmtest.Exchange) { x.Refuse(429, "3600", "slow down") })
			_, err := w.model(t, server, openai.Options{MaxRetries: 3}).Generate(t.Context(), hello, nil)
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != llm.KindRateLimited || e.RetryAfter != time.Hour || len(server.Requests()) != 1 {
				t.Errorf("got %+v after %d requests", e, len(server.Requests()))
			}
		})
		t.Run("not after text was shown", func(t *testing.T) {
			server := w.open(t, func(x *llmtest.Exchange) { x.Piece("half "); x.Cut() })
			_, err := w.model(t, server, openai.Options{MaxRetries: 3}).Generate(t.Context(), hello, func(string) {})
			if llm.KindOf(err) != llm.KindTruncated || len(server.Requests()) != 1 {
				t.Errorf("got %v after %d requests", err, len(server.Requests()))
			}
		})
		t.Run("each attempt is charged", func(t *testing.T) {
			server := w.open(t, func(x *llmtest.Exchange) { x.Refuse(503, "", "busy") })
			left, req := 2, hello
			req.Spend = func() error {
				if left--; left < 0 {
					return errors.New("nothing left")
				}
				return nil
			}
			_, err := w.model(t, server, openai.Options{MaxRetries: 5}).Generate(t.Context(), req, nil)
			if llm.KindOf(err) != llm.KindOverloaded || len(server.Requests()) != 2 {
				t.Errorf("got %v after %d requests", err, len(server.Requests()))
			}
		})
	})
}

func TestASilentServerIsUnreachable(t *testing.T) {
	everyWire(t, func(t *testing.T, w wire) {
		for name, answer := range map[string]func(*llmtest.Exchange){
			"before the answer": func(x *llmtest.Exchange) { x.Wait(5 * time.Second) },
			"in the middle":     func(x *llmtest.Exchange) { x.Piece("half "); x.Wait(5 * time.Second) },
		} {
			t.Run(name, func(t *testing.T) {
				server := w.open(t, answer)
				_, err := w.model(t, server, openai.Options{IdleTimeout: 50 * time.Millisecond, MaxRetries: 3}).Generate(t.Context(), hello, nil)
				if llm.KindOf(err) != llm.KindUnreachable || len(server.Requests()) != 1 {
					t.Errorf("got %v after %d requests", err, len(server.Requests()))
				}
			})
		}
	})
}

func TestRefusalsAreSortedByWhatCanBeDone(t *testing.T) {
	everyWire(t, func(t *testing.T, w wire) {
		for status, kind := range map[int]llm.Kind{400: llm.KindBadRequest, 401: llm.KindAuth, 403: llm.KindAuth, 429: llm.KindRateLimited, 500: llm.KindOverloaded, 529: llm.KindOverloaded, 307: llm.KindBadRequest} {
			t.Run(fmt.Sprint(status), func(t *testing.T) {
				_, err := w.ask(t, func(x *llmtest.Exchange) {
					x.Header().Set("Location", "/elsewhere")
					x.Reject(status, "some_error", "no")
				})
				if llm.KindOf(err) != kind {
					t.Errorf("got %v, want %q", err, kind)
				}
			})
		}
		t.Run("a page", func(t *testing.T) {
			_, err := w.ask(t, func(x *llmtest.Exchange) { x.Refuse(502, "", "<html><h1>Bad Gateway</h1></html>") })
			if llm.KindOf(err) != llm.KindOverloaded || !strings.Contains(err.Error(), "Bad Gateway") {
				t.Errorf("got %v", err)
			}
		})
		t.Run("a page that comes as an answer", func(t *testing.T) {
			_, err := w.ask(t, func(x *llmtest.Exchange) { x.Refuse(http.StatusOK, "", "<html>Please log in</html>") })
			if llm.KindOf(err) != llm.KindWrongAddress {
				t.Errorf("got %v", err)
			}
		})
	})
}

func TestAFloodIsRefused(t *testing.T) {
	flood := strings.Repeat("word ", 4000) // 20 kB
	var many []llm.Call
	for i := range 300 {
		many = append(many, llmtest.Call(fmt.Sprint("c", i), "lookup", map[string]int{"i": i}))
	}
	everyWire(t, func(t *testing.T, w wire) {
		for name, answer := range map[string]func(*llmtest.Exchange){
			"text without end": func(x *llmtest.Exchange) {
				for x.Wait(0) {
					x.Piece(flood)
				}
			},
			"reasoning without end": func(x *llmtest.Exchange) {
				for x.Wait(0) {
					x.Think(flood)
				}
			},
			"unknown events without end": func(x *llmtest.Exchange) {
				for x.Wait(0) {
					x.Event("response.new", `{"type":"response.new","novelty":%q}`, flood)
				}
			},
			"a line without end": func(x *llmtest.Exchange) {
				x.Write("data: {")
				for x.Wait(0) {
					x.Write(flood)
				}
			},
			"arguments of a library":    func(x *llmtest.Exchange) { x.Use("a", "lookup", `{"a":"`+strings.Repeat(flood, 20)+`"}`) },
			"300 calls":                 func(x *llmtest.Exchange) { x.UseAll(many...) },
			"a tool named like a novel": func(x *llmtest.Exchange) { x.Use("a", flood, "{}") },
		} {
			t.Run(name, func(t *testing.T) {
				server := w.open(t, answer)
				_, err := w.model(t, server, openai.Options{MaxAnswer: 100_000, MaxRetries: 3}).Generate(t.Context(), hello, nil)
				if !errors.Is(err, llm.ErrTooLong) || len(server.Requests()) != 1 {
					t.Errorf("got %v after %d requests", err, len(server.Requests()))
				}
			})
		}
	})
}
