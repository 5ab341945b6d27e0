// Answers that are meant to do harm, or might as well be.

package openai_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

func TestAnAbsurdRetryAfterIsABound(t *testing.T) {
	for _, value := range []string{"1e300", "Inf", "99999999999999", "9e18", time.Now().AddDate(300, 0, 0).UTC().Format(http.TimeFormat)} {
		t.Run(value, func(t *testing.T) {
			server := serve(t, func(x *llmtest.Exchange) { x.Refuse(429, value, "later") })
			_, err := connect(t, server, openai.Options{MaxRetries: 2}).Generate(t.Context(), hello, nil)
			var e *llm.Error
			if !errors.As(err, &e) || e.RetryAfter <= time.Minute || e.RetryAfter > 24*time.Hour || len(server.Requests()) != 1 {
				t.Errorf("after %d requests: %+v", len(server.Requests()), e)
			}
		})
	}
	for _, value := range []string{"-5", "NaN", "soon", "0", "Thu, 01 Jan 1970 00:00:00 GMT"} {
		t.Run("nonsense: "+value, func(t *testing.T) {
			server := serve(t, func(x *llmtest.Exchange) { x.Refuse(429, value, "later") })
			_, err := connect(t, server, openai.Options{MaxRetries: 2}).Generate(t.Context(), hello, nil)
			var e *llm.Error
			if !errors.As(err, &e) || e.RetryAfter != 0 || len(server.Requests()) != 3 {
				t.Errorf("after %d requests: %+v", len(server.Requests()), e)
			}
		})
	}
}

func TestACountThatCannotBeIsNone(t *testing.T) {
	for name, usage := range map[string]string{
		"negative":     `{"prompt_tokens":-5,"completion_tokens":-1}`,
		"absurd":       `{"prompt_tokens":1000000000000000000,"completion_tokens":1e18}`,
		"words":        `{"prompt_tokens":"many"}`,
		"a word":       `"none"`,
		"a list":       `[1,2]`,
		"odd details":  `{"prompt_tokens_details":"none"}`,
		"nothing much": `{}`,
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, func(x *llmtest.Exchange) {
				x.Chunk(`{"choices":[{"index":0,"delta":{"content":"fine"},"finish_reason":"stop"}],"usage":%s}`, usage)
				x.Done()
			})
			resp, err := connect(t, server, openai.Options{}).Generate(t.Context(), hello, nil)
			if err != nil || resp.Message.Text != "fine" || resp.Usage != (llm.Usage{}) {
				t.Errorf("got %+v, %v", resp, err)
			}
		})
	}
}

func TestWhatIsNoUTF8GoesNowhere(t *testing.T) {
	server := serve(t, func(x *llmtest.Exchange) {
		x.Write("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\xffb\\u0000c\",\"reasoning_details\":[{\"type\":\"x\",\"data\":\"\xc3\x28\"}]},\"finish_reason\":\"stop\"}]}\n\n")
		x.Done()
	})
	resp, err := connect(t, server, openai.Options{}).Generate(t.Context(), hello, nil)
	if err != nil || resp.Message.Text != "a\uFFFDbc" {
		t.Errorf("got %q, %v", resp.Message.Text, err)
	}
	if native := string(resp.Message.Native); !strings.Contains(native, "\uFFFD") || strings.ToValidUTF8(native, "") != native {
		t.Errorf("kept for the provider: %q", native)
	}
}

func TestAnAnswerSaysNoMoreThanItMay(t *testing.T) {
	flood := strings.Repeat("word ", 20_000) // 100 kB
	for name, c := range map[string]struct {
		answer func(*llmtest.Exchange)
		tokens int
		ok     bool
	}{
		"text beyond the tokens it was allowed":      {func(x *llmtest.Exchange) { x.Say(flood) }, 500, false},
		"arguments beyond them":                      {func(x *llmtest.Exchange) { x.Use("1", "note", `{"a":"`+flood+`"}`) }, 500, false},
		"text within them":                           {func(x *llmtest.Exchange) { x.Say(flood) }, 8000, true},
		"text where nothing was set":                 {func(x *llmtest.Exchange) { x.Say(flood) }, 0, true},
		"reasoning, which some servers do not count": {func(x *llmtest.Exchange) { think(x, flood) }, 500, true},
		"as many calls as there can be tools":        {calling(128), 500, true},
		"one more":                                   {calling(129), 500, false},
		"a tool with a name like a book":             {func(x *llmtest.Exchange) { x.Use("1", strings.Repeat("note", 300), "{}") }, 8000, false},
		"an id like a library":                       {func(x *llmtest.Exchange) { x.Use(flood, "note", "{}") }, 500, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, c.answer)
			req := hello
			req.MaxTokens = c.tokens
			_, err := connect(t, server, openai.Options{}).Generate(t.Context(), req, nil)
			if (err == nil) != c.ok || err != nil && !errors.Is(err, llm.ErrTooLong) || len(server.Requests()) != 1 {
				t.Errorf("got %v after %d requests", err, len(server.Requests()))
			}
		})
	}
}

// calling is an answer with so many calls.
func calling(n int) func(*llmtest.Exchange) {
	return func(x *llmtest.Exchange) {
		for i := range n {
			x.Chunk(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"%d","function":{"name":"note","arguments":"{}"}}]}}]}`, i, i)
		}
		x.Finish("tool_calls")
		x.Done()
	}
}

func think(x *llmtest.Exchange, text string) {
	x.Chunk(`{"choices":[{"index":0,"delta":{"reasoning":"%s"}}]}`, text)
	x.Say("fine")
}

// TestManySmallPartsTakeNoRoom holds what a few megabytes may take when they are read:
// before, these took up to 1.6 GB.
func TestManySmallPartsTakeNoRoom(t *testing.T) {
	many := strings.Repeat("{},", 1_200_000) + "{}"
	for name, body := range map[string]string{
		"choices":           `{"choices":[` + many + `]}`,
		"tool calls":        `{"choices":[{"index":0,"delta":{"tool_calls":[` + many + `]}}]}`,
		"reasoning details": `{"choices":[{"index":0,"delta":{"content":"x","reasoning_details":[` + many + `]}}]}`,
		"depth":             `{"choices":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`,
	} {
		for form, write := range map[string]func(*llmtest.Exchange){
			"in a stream":  func(x *llmtest.Exchange) { x.Write("data: " + body + "\n\n"); x.Done() },
			"in one piece": func(x *llmtest.Exchange) { x.Refuse(200, "", strings.ReplaceAll(body, `"delta"`, `"message"`)) },
		} {
			t.Run(name+" "+form, func(t *testing.T) {
				server := serve(t, write)
				model := connect(t, server, openai.Options{MaxRetries: -1})
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := model.Generate(t.Context(), hello, nil)
				runtime.ReadMemStats(&after)
				if took := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || took > 150 {
					t.Errorf("%v; it took %d MiB", err, took)
				}
			})
		}
	}
}

func TestBracketsInWordsAreNoParts(t *testing.T) {
	text := strings.Repeat(`{"a\": [{\\`, 5000)
	server := serve(t, func(x *llmtest.Exchange) { x.Say(text) })
	resp, err := connect(t, server, openai.Options{}).Generate(t.Context(), hello, nil)
	if err != nil || resp.Message.Text != text {
		t.Errorf("got %d of %d bytes, %v", len(resp.Message.Text), len(text), err)
	}
}

func TestAConversationFollowsNoRedirect(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		asked := 0
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
		hits := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			hits++
			http.Redirect(w, r, other.URL+"/elsewhere?key=hush", status)
		}))
		model, err := openai.New(openai.Options{BaseURL: server.URL, Model: "m", RetryDelay: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		_, err = model.Generate(t.Context(), hello, nil)
		if llm.KindOf(err) != llm.KindBadRequest || hits != 1 || asked != 0 ||
			!strings.Contains(err.Error(), other.URL+"/elsewhere") || strings.Contains(err.Error(), "hush") {
			t.Errorf("%d: %v; %d requests, %d at the other server", status, err, hits, asked)
		}
		server.Close()
		other.Close()
	}
}

func TestEachAttemptIsSpentFor(t *testing.T) {
	budget := func(n int) (spend func() error, spent *int) {
		spent = new(int)
		return func() error {
			if *spent == n {
				return errors.New("all spent")
			}
			*spent++
			return nil
		}, spent
	}
	ask := func(t *testing.T, n int, answer func(*llmtest.Exchange)) (spent, made int, err error) {
		server := serve(t, answer)
		req := hello
		spend, counted := budget(n)
		req.Spend = spend
		_, err = connect(t, server, openai.Options{MaxRetries: 5}).Generate(t.Context(), req, nil)
		return *counted, len(server.Requests()), err
	}
	t.Run("and none is made that is not", func(t *testing.T) {
		spent, made, err := ask(t, 0, func(x *llmtest.Exchange) { x.Say("fine") })
		if err == nil || err.Error() != "all spent" || spent != 0 || made != 0 {
			t.Errorf("%v after %d of %d", err, made, spent)
		}
	})
	t.Run("after a failure that failure is told", func(t *testing.T) {
		spent, made, err := ask(t, 3, func(x *llmtest.Exchange) { x.Refuse(503, "", "busy") })
		if llm.KindOf(err) != llm.KindOverloaded || spent != 3 || made != 3 {
			t.Errorf("%v after %d of %d", err, made, spent)
		}
	})
	t.Run("the second try without stream_options too", func(t *testing.T) {
		spent, made, err := ask(t, 5, func(x *llmtest.Exchange) {
			if x.Request.StreamOptions.IncludeUsage {
				x.Refuse(400, "", "unknown field stream_options")
				return
			}
			x.Say("fine")
		})
		if err != nil || spent != 2 || made != 2 {
			t.Errorf("%v after %d of %d", err, made, spent)
		}
	})
}

// TestALongRefusalIsJudgedByItsBeginning: read whole by every pattern, a megabyte took
// a second of work for each attempt.
func TestALongRefusalIsJudgedByItsBeginning(t *testing.T) {
	page := strings.Repeat("the quick brown fox does not support it ", 26_000) // 1 MB
	for body, kind := range map[string]llm.Kind{
		"maximum context length is 4096 tokens. " + page: llm.KindOverflow,
		page + "maximum context length is 4096 tokens.":  llm.KindBadRequest,
	} {
		server := serve(t, func(x *llmtest.Exchange) { x.Refuse(400, "", body) })
		if _, err := connect(t, server, openai.Options{}).Generate(t.Context(), hello, nil); llm.KindOf(err) != kind {
			t.Errorf("%.60q: %v", body, llm.KindOf(err))
		}
	}
}
