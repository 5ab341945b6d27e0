// Failures, on every protocol.

package llm_test

import (
	"context"
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

func TestOversizedResponseIsRefused(t *testing.T) {
	check.SkipUnderRace(t)
	flood := strings.Repeat("word ", 2000) // 10 kB
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for name, write := range map[string]func(*llmtest.Exchange){
			"text":           func(x *llmtest.Exchange) { x.Piece(flood) },
			"reasoning":      func(x *llmtest.Exchange) { x.Think(flood) },
			"unknown events": func(x *llmtest.Exchange) { x.Event("response.new", `{"type":"response.new","novelty":%q}`, flood) },
			"a line":         func(x *llmtest.Exchange) { x.Write("data: {" + flood) },
			"white space":    func(x *llmtest.Exchange) { x.Write(strings.Repeat(" ", 10_000)) },
			"one JSON":       func(x *llmtest.Exchange) { x.Write("[[[[[[[[[[[[[[[[[[[[[[[[") },
			"comments":       func(x *llmtest.Exchange) { x.Write(":" + strings.Repeat("\n:", 25_000)) },
		} {
			server := w.open(t, func(x *llmtest.Exchange) {
				for x.Wait(0) {
					write(x)
				}
			})
			err := check.ErrorOf(w.model(t, server, openai.Options{MaxAnswer: 50_000, MaxRetries: 3}).Generate(t.Context(), hello, nil))
			check.That(t, errors.Is(err, llm.ErrTooLong), "%s without end: %v", name, err)
			check.Len(t, name+": requests", server.Requests(), 1)
			if name != "comments" && name != "unknown events" { // a stream may be longer than an answer
				check.ErrorContains(t, name+" without end was cut off late", err, "longer than 50000 bytes")
			}
		}
	})
}

func TestAnswerLimit(t *testing.T) {
	check.SkipUnderRace(t)
	flood := strings.Repeat("word ", 80_000) // 400 kB
	many := make([]llm.Call, 129)
	for i := range many {
		many[i] = llm.Call{ID: fmt.Sprint(i), Name: "note", Arguments: "{}"}
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
			"too many calls":                             {func(x *llmtest.Exchange) { x.UseAll(many...) }, 500, false},
			"a tool with a name like a book":             {func(x *llmtest.Exchange) { x.Use("1", strings.Repeat("note", 300), "{}") }, 8000, false},
			"an id like a library":                       {func(x *llmtest.Exchange) { x.Use(flood, "note", "{}") }, 500, false},
		} {
			server, req := w.open(t, c.answer), hello
			req.MaxTokens = c.tokens
			err := check.ErrorOf(w.model(t, server, openai.Options{MaxRetries: 3}).Generate(t.Context(), req, nil))
			check.That(t, (err == nil) == c.ok && (err == nil || errors.Is(err, llm.ErrTooLong)), "%s: got %v", name, err)
			check.Len(t, name+": requests", server.Requests(), 1)
		}
	})
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for _, status := range []int{301, 307} {
			asked := 0
			other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
			server := httptest.NewServer(http.RedirectHandler(other.URL+"/elsewhere?key=hush", status))
			model := check.Must(w.connect(openai.Options{BaseURL: server.URL, Model: "m", APIKey: "secret", RetryDelay: time.Millisecond}))(t)
			for what, err := range map[string]error{
				"an answer": check.ErrorOf(model.Generate(t.Context(), hello, nil)), "the list": check.ErrorOf(model.(interface {
					Models(ctx context.Context) ([]llm.Offered, error)
				}).Models(t.Context())),
			} {
				check.Equal(t, what, llm.KindOf(err), llm.KindWrongAddress)
				check.Lacks(t, what, fmt.Sprint(err), "hush")
			}
			check.Equal(t, "requests at the other server", asked, 0)
			server.Close()
			other.Close()
		}
	})
}

func TestAddressIsValidated(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for _, address := range []string{"localhost:8080", "ftp://host/v1", "http://", "http://[::1", "v1", "http://host/v1?key=hush"} {
			shown, _, _ := strings.Cut(address, "?")
			err := check.ErrorOf(w.connect(openai.Options{BaseURL: address}))
			check.ErrorContains(t, address, err, strconv.Quote(shown), "want an address like", "without a query")
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
