// Failures, on every protocol.

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

func TestTooLongAnswerIsRefused(t *testing.T) {
	check.SkipUnderRace(t)
	flood, long := strings.Repeat("word ", 2000), strings.Repeat("word ", 80_000) // 10 and 400 kB
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
	const cut = "longer than 50000 bytes" // a stream may be longer than an answer
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for name, c := range map[string]struct {
			answer       func(*llmtest.Exchange)
			tokens, most int
			want         string // in the error; "": there is none
		}{
			"text without end":           {endless(func(x *llmtest.Exchange) { x.Piece(flood) }), 0, 50_000, cut},
			"reasoning without end":      {endless(func(x *llmtest.Exchange) { x.Think(flood) }), 0, 50_000, cut},
			"unknown events without end": {endless(func(x *llmtest.Exchange) { x.Event("response.new", `{"type":"response.new","novelty":%q}`, flood) }), 0, 50_000, "longer"},
			"a line without end":         {endless(func(x *llmtest.Exchange) { x.Write("data: {" + flood) }), 0, 50_000, cut},
			"white space without end":    {endless(func(x *llmtest.Exchange) { x.Write(strings.Repeat(" ", 10_000)) }), 0, 50_000, cut},
			"one JSON without end":       {endless(func(x *llmtest.Exchange) { x.Write("[[[[[[[[[[[[[[[[[[[[[[[[") }), 0, 50_000, cut},
			"comments without end":       {endless(func(x *llmtest.Exchange) { x.Write(":" + strings.Repeat("\n:", 25_000)) }), 0, 50_000, "longer"},

			"text beyond the tokens it was allowed":      {func(x *llmtest.Exchange) { x.Say(long) }, 500, 0, "longer"},
			"text within them":                           {func(x *llmtest.Exchange) { x.Say(long) }, 16_000, 0, ""},
			"reasoning, which some servers do not count": {func(x *llmtest.Exchange) { x.Think(long); x.Say("fine") }, 500, 0, ""},
			"too many calls":                             {func(x *llmtest.Exchange) { x.UseAll(many...) }, 500, 0, "128 tool calls"},
			"a tool with a name like a book":             {func(x *llmtest.Exchange) { x.Use("1", strings.Repeat("note", 300), "{}") }, 8000, 0, "name of a tool"},
			"an id like a library":                       {func(x *llmtest.Exchange) { x.Use(long, "note", "{}") }, 500, 0, "longer"},
		} {
			server, req := w.open(t, c.answer), hello
			req.MaxTokens = c.tokens
			err := check.ErrorOf(w.model(t, server, openai.Options{MaxAnswer: c.most, MaxRetries: 3}).Generate(t.Context(), req, nil))
			check.Equal(t, name+": too long", errors.Is(err, llm.ErrTooLong), c.want != "")
			check.Contains(t, name, fmt.Sprint(err), cmp.Or(c.want, "<nil>"))
			check.Len(t, name+": requests", server.Requests(), 1)
		}
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
