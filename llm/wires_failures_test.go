// Failures, on every protocol.

package llm_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

func TestOverflowContainsWindow(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		server := w.open(t, func(x *llmtest.Exchange) { x.Say("ok") })
		server.SetWindow(2000)
		model := w.model(t, server, openai.Options{Window: 8000, MaxRetries: 3})
		long := llm.Request{Messages: []llm.Message{user(strings.Repeat("many words ", 1500))}, MaxTokens: 100}
		_, err := model.Generate(t.Context(), long, nil)
		if llm.KindOf(err) != llm.KindOverflow || len(server.Requests()) > 2 { // once more without room for reasoning
			t.Errorf("got %v after %d requests", err, len(server.Requests()))
		}
		check.Equal(t, "the window", model.Window(t.Context()).Tokens, 2000)
	})
}

func TestTruncatedStreamIsError(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for name, answer := range map[string]func(*llmtest.Exchange){
			"it ends in the middle":     func(x *llmtest.Exchange) { x.Piece("half ") },
			"the connection breaks":     func(x *llmtest.Exchange) { x.Piece("half "); x.Cut() },
			"a line breaks":             func(x *llmtest.Exchange) { x.Piece("half "); x.Write(`data: {"ty`) },
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

func TestErrorInStream(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		requests := 0
		_, err := w.model(t, w.open(t, func(x *llmtest.Exchange) {
			requests++
			x.Piece("half ")
			x.Fail("the engine crashed")
			x.Wait(2 * time.Second) // an answer that is not seen at once is never seen
		}), openai.Options{MaxRetries: 2}).Generate(t.Context(), hello, func(string) {})
		check.Equal(t, "error kind", llm.KindOf(err), llm.KindOverloaded)
		check.Contains(t, "error", err.Error(), "the engine crashed")
		check.Equal(t, "requests", requests, 1)
	})
}

func TestRefusalClasses(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for status, kind := range map[int]llm.Kind{400: llm.KindBadRequest, 401: llm.KindAuth, 403: llm.KindAuth, 429: llm.KindRateLimited, 500: llm.KindOverloaded, 529: llm.KindOverloaded, 307: llm.KindWrongAddress} {
			t.Run(fmt.Sprint(status), func(t *testing.T) {
				_, err := w.ask(t, func(x *llmtest.Exchange) {
					x.Header().Set("Location", "/elsewhere")
					x.Reject(status, "some_error", "no")
				})
				check.Equal(t, "error kind", llm.KindOf(err), kind)
			})
		}
		t.Run("a page", func(t *testing.T) {
			_, err := w.ask(t, func(x *llmtest.Exchange) { x.Refuse(502, "", "<html><h1>Bad Gateway</h1></html>") })
			check.Equal(t, "error kind", llm.KindOf(err), llm.KindOverloaded)
			check.Contains(t, "error", err.Error(), "Bad Gateway")
		})
		t.Run("a page that comes as an answer", func(t *testing.T) {
			_, err := w.ask(t, func(x *llmtest.Exchange) { x.Refuse(http.StatusOK, "", "<html>Please log in</html>") })
			check.Equal(t, "error kind", llm.KindOf(err), llm.KindWrongAddress)
		})
	})
}

func TestOversizedResponseIsRefused(t *testing.T) {
	check.SkipUnderRace(t)
	flood := strings.Repeat("word ", 2000) // 10 kB
	forEveryProtocol(t, func(t *testing.T, w wire) {
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
			"white space without end": func(x *llmtest.Exchange) {
				for x.Wait(0) {
					x.Write(strings.Repeat(" ", 10_000))
				}
			},
			"one JSON without end": func(x *llmtest.Exchange) {
				for x.Wait(0) {
					x.Write("[[[[[[[[[[[[[[[[[[[[[[[[")
				}
			},
			"comments without end": func(x *llmtest.Exchange) {
				for range 2 * 64 { // twice the limit of a stream
					x.Write(":" + strings.Repeat("\n:", 25_000))
				}
			},
		} {
			t.Run(name, func(t *testing.T) {
				server := w.open(t, answer)
				_, err := w.model(t, server, openai.Options{MaxAnswer: 50_000, MaxRetries: 3}).Generate(t.Context(), hello, nil)
				check.Error(t, err, llm.ErrTooLong)
				check.Len(t, "requests", server.Requests(), 1)
				byStream := name == "comments without end" || name == "unknown events without end" // which may be longer than an answer
				if strings.HasSuffix(name, "without end") && !byStream && !strings.Contains(err.Error(), "longer than 50000 bytes") {
					t.Errorf("it was cut off late: %v", err)
				}
			})
		}
	})
}

func TestAnswerLimit(t *testing.T) {
	check.SkipUnderRace(t)
	flood := strings.Repeat("word ", 80_000) // 400 kB
	calling := func(n int) func(*llmtest.Exchange) {
		var calls []llm.Call
		for i := range n {
			calls = append(calls, llm.Call{ID: fmt.Sprint(i), Name: "note", Arguments: "{}"})
		}
		return func(x *llmtest.Exchange) { x.UseAll(calls...) }
	}
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for name, c := range map[string]struct {
			answer func(*llmtest.Exchange)
			tokens int
			ok     bool
		}{
			"text beyond the tokens it was allowed":      {func(x *llmtest.Exchange) { x.Say(flood) }, 500, false},
			"text within them":                           {func(x *llmtest.Exchange) { x.Say(flood) }, 16_000, true},
			"reasoning, which some servers do not count": {func(x *llmtest.Exchange) { x.Think(flood); x.Say("fine") }, 500, true},
			"one more":                       {calling(129), 500, false},
			"a tool with a name like a book": {func(x *llmtest.Exchange) { x.Use("1", strings.Repeat("note", 300), "{}") }, 8000, false},
			"an id like a library":           {func(x *llmtest.Exchange) { x.Use(flood, "note", "{}") }, 500, false},
		} {
			if c.tokens == 0 && w.name == llm.WireMessages {
				continue // it demands a bound, so one is always set
			}
			t.Run(name, func(t *testing.T) {
				server := w.open(t, c.answer)
				req := hello
				req.MaxTokens = c.tokens
				_, err := w.model(t, server, openai.Options{MaxRetries: 3}).Generate(t.Context(), req, nil)
				if (err == nil) != c.ok || err != nil && !errors.Is(err, llm.ErrTooLong) || len(server.Requests()) != 1 {
					t.Errorf("got %v after %d requests", err, len(server.Requests()))
				}
			})
		}
	})
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for _, status := range []int{301, 302, 303, 307, 308} {
			asked, hits := 0, 0
			other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				hits++
				http.Redirect(w, r, other.URL+"/elsewhere?key=hush", status)
			}))
			model, err := w.connect(openai.Options{BaseURL: server.URL, Model: "m", APIKey: "secret", RetryDelay: time.Millisecond})
			check.NoError(t, err)
			refused := func(err error) bool {
				return llm.KindOf(err) == llm.KindWrongAddress && !strings.Contains(err.Error(), "hush")
			}
			if _, err := model.Generate(t.Context(), hello, nil); !refused(err) || hits != 1 || asked != 0 {
				t.Errorf("%d: %v; %d requests, %d at the other server", status, err, hits, asked)
			}
			if _, err := model.(lister).Models(t.Context()); !refused(err) || asked != 0 {
				t.Errorf("%d: the list: %v, %d at the other server", status, err, asked)
			}
			server.Close()
			other.Close()
		}
	})
}

func TestAddressIsValidated(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for _, address := range []string{"localhost:8080", "ftp://host/v1", "http://", "http://[::1", "v1"} {
			check.ErrorContains(t, address, check.ErrorOf(w.connect(openai.Options{BaseURL: address})), strconv.Quote(address))
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
