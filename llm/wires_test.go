// One suite of conversations for every wire, over strict servers.

package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

// wire is one way to speak to a model.
type wire struct {
	name string
	// connect returns the model of a server on this wire.
	connect func(o openai.Options) (llm.Model, error)
}

var wires = []wire{
	{llm.WireChat, func(o openai.Options) (llm.Model, error) {
		o.Wire = llm.WireChat
		return openai.New(o)
	}},
	{llm.WireResponses, func(o openai.Options) (llm.Model, error) {
		o.Wire = llm.WireResponses
		return openai.New(o)
	}},
	{llm.WireMessages, func(o openai.Options) (llm.Model, error) {
		return anthropic.New(anthropic.Options{
			BaseURL: o.BaseURL, APIKey: o.APIKey, Model: o.Model, Window: o.Window, MaxRetries: o.MaxRetries,
			RetryDelay: o.RetryDelay, IdleTimeout: o.IdleTimeout, MaxTime: o.MaxTime, MaxAnswer: o.MaxAnswer,
			Notebook: o.Notebook, HTTPClient: o.HTTPClient, Log: o.Log,
		})
	}},
}

// everyWire runs a test on each wire.
func everyWire(t *testing.T, test func(t *testing.T, w wire)) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) { test(t, w) })
	}
}

// open starts a server that speaks this wire alone.
func (w wire) open(t *testing.T, answer func(*llmtest.Exchange)) *llmtest.Server {
	t.Helper()
	server := llmtest.NewServer(answer)
	t.Cleanup(server.Close)
	server.Speak(w.name)
	return server
}

// model returns the model of a server; without options it does not retry.
func (w wire) model(t *testing.T, server *llmtest.Server, o openai.Options) llm.Model {
	t.Helper()
	o.BaseURL = server.URL
	if o.Model == "" {
		o.Model = "test-model"
	}
	if o.MaxRetries == 0 {
		o.MaxRetries = -1
	}
	o.RetryDelay = time.Millisecond
	model, err := w.connect(o)
	if err != nil {
		t.Fatal(err)
	}
	return model
}

func user(text string) llm.Message      { return llm.Message{Role: llm.RoleUser, Text: text} }
func assistant(text string) llm.Message { return llm.Message{Role: llm.RoleAssistant, Text: text} }

var hello = llm.Request{Messages: []llm.Message{{Role: llm.RoleSystem, Text: "be kind"}, user("hello")}}

var look = llm.Tool{Name: "lookup", Description: "looks up a word", Parameters: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}}}`)}

// ask sends hello to a server that answers so.
func (w wire) ask(t *testing.T, answer func(*llmtest.Exchange)) (llm.Response, error) {
	t.Helper()
	return w.model(t, w.open(t, answer), openai.Options{}).Generate(t.Context(), hello, nil)
}

// unrefused fails if the server refused anything.
func unrefused(t *testing.T, server *llmtest.Server) {
	t.Helper()
	if got := server.Refusals(); len(got) > 0 {
		t.Errorf("the server refused %q", got)
	}
}

func TestTextIsShownAsItComes(t *testing.T) {
	everyWire(t, func(t *testing.T, w wire) {
		seen := make(chan string)
		server := w.open(t, func(x *llmtest.Exchange) {
			x.Counted = llm.Usage{Prompt: 1000, Cached: 600, Written: 300, Completion: 20}
			x.Piece("first ")
			if got := <-seen; got != "first " {
				t.Errorf("the first piece was shown as %q", got)
			}
			x.Say("last")
		})
		var shown []string
		resp, err := w.model(t, server, openai.Options{}).Generate(t.Context(), hello, func(delta string) {
			if shown = append(shown, delta); len(shown) == 1 {
				seen <- delta
			}
		})
		if err != nil || resp.Message.Text != "first last" || strings.Join(shown, "|") != "first |last" || resp.FinishReason != llm.FinishStop {
			t.Errorf("got %+v shown as %q, %v", resp, shown, err)
		}
		if want := (llm.Usage{Prompt: 1000, Cached: 600, Written: 300, Completion: 20}); resp.Usage != want {
			t.Errorf("usage %+v, want %+v", resp.Usage, want)
		}
		unrefused(t, server)
	})
}

func TestSeveralToolsAreCalledInOneAnswer(t *testing.T) {
	everyWire(t, func(t *testing.T, w wire) {
		server := w.open(t, func(x *llmtest.Exchange) {
			if x.Request.Last().Role == llm.RoleTool {
				x.Say("done")
				return
			}
			x.Piece("I look. ")
			x.UseAll(llmtest.Call("a", "lookup", map[string]string{"word": "tea"}), llmtest.Call("b", "lookup", map[string]string{"word": "pier"}))
		})
		tool := look
		tool.Run = func(_ context.Context, arguments json.RawMessage) (string, error) {
			return "found " + string(arguments), nil
		}
		messages := slices.Clone(hello.Messages)
		resp, err := llm.Loop{
			Model: w.model(t, server, openai.Options{}), MaxCalls: 3,
			Request: func(context.Context, int) (llm.Request, error) {
				return llm.Request{Messages: messages, Tools: []llm.Tool{tool}, MaxTokens: 2000}, nil
			},
			Record: func(calls llm.Message, results []llm.Message) {
				messages = append(append(messages, calls), results...)
			},
		}.Run(t.Context())
		unrefused(t, server)
		if err != nil || resp.Message.Text != "done" || len(server.Requests()) != 2 {
			t.Fatalf("got %q after %d requests, %v", resp.Message.Text, len(server.Requests()), err)
		}
		sent := server.Requests()[1].Messages
		calls := sent[2]
		if calls.Text() != "I look. " || len(calls.ToolCalls) != 2 || calls.ToolCalls[1].ID != "b" || *calls.ToolCalls[1].Function.Arguments != `{"word":"pier"}` {
			t.Errorf("the calls went back as %+v", calls)
		}
		if len(sent) != 5 || sent[3].ToolCallID != "a" || sent[3].Text() != `found {"word":"tea"}` || sent[4].ToolCallID != "b" {
			t.Errorf("the results were sent as %+v", sent[3:])
		}
	})
}

func TestAToolIsForced(t *testing.T) {
	req := hello
	req.Tools, req.ForceTool, req.MaxTokens = []llm.Tool{look}, "lookup", 500
	everyWire(t, func(t *testing.T, w wire) {
		server := w.open(t, func(x *llmtest.Exchange) { x.Use("a", x.Request.Forced, "{}") })
		resp, err := w.model(t, server, openai.Options{}).Generate(t.Context(), req, nil)
		if err != nil || len(resp.Message.Calls) != 1 || resp.Message.Calls[0].Name != "lookup" || resp.FinishReason != llm.FinishToolCalls {
			t.Errorf("got %+v, %v", resp, err)
		}
		if got := server.Requests()[0]; got.MaxTokens != 500 || len(got.Tools) != 1 || got.Tools[0].Function.Description != look.Description {
			t.Errorf("sent %+v", got)
		}
		unrefused(t, server)
	})
	everyWire(t, func(t *testing.T, w wire) {
		server := w.open(t, func(x *llmtest.Exchange) {
			if x.Request.Forced != "" {
				x.Reject(400, "invalid_request_error", "Thinking mode does not support this tool_choice")
				return
			}
			x.Use("a", "lookup", "{}")
		})
		model := w.model(t, server, openai.Options{})
		for range 2 {
			if resp, err := model.Generate(t.Context(), req, nil); err != nil || len(resp.Message.Calls) != 1 {
				t.Fatalf("a server that takes no forced tool: got %+v, %v", resp, err)
			}
		}
		if n := len(server.Requests()); n != 3 || !llm.LearntOf(model, nil).Facts().RefusesForced {
			t.Errorf("%d requests: the refusal was not learnt", n)
		}
	})
}

func TestPicturesAreSent(t *testing.T) {
	everyWire(t, func(t *testing.T, w wire) {
		server := w.open(t, func(x *llmtest.Exchange) { x.Say("a cat") })
		m := user("look")
		m.Images = []llm.Image{{Label: "image of #1: cat.png", Data: png}, {Label: "a drawing", Type: "image/svg+xml", Data: []byte("<svg/>")}}
		if _, err := w.model(t, server, openai.Options{}).Generate(t.Context(), llm.Request{Messages: []llm.Message{m}}, nil); err != nil {
			t.Fatal(err, server.Refusals())
		}
		got := server.Requests()[0].Last()
		if len(got.Images) != 1 || string(got.Images[0].Data) != string(png) || got.Images[0].Type != "image/png" {
			t.Errorf("the server read %+v", got.Images)
		}
		for _, want := range []string{"image of #1: cat.png", "a drawing, not shown", "look"} {
			if !strings.Contains(got.Text(), want) {
				t.Errorf("%q is not in %q", want, got.Text())
			}
		}
	})
}

func TestAnOverflowTellsTheWindow(t *testing.T) {
	everyWire(t, func(t *testing.T, w wire) {
		server := w.open(t, func(x *llmtest.Exchange) { x.Say("ok") })
		server.SetWindow(2000)
		model := w.model(t, server, openai.Options{Window: 8000, MaxRetries: 3})
		long := llm.Request{Messages: []llm.Message{user(strings.Repeat("many words ", 1500))}, MaxTokens: 100}
		_, err := model.Generate(t.Context(), long, nil)
		if llm.KindOf(err) != llm.KindOverflow || len(server.Requests()) != 1 {
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

func TestWhyAnAnswerEndedIsKnown(t *testing.T) {
	everyWire(t, func(t *testing.T, w wire) {
		for _, reason := range []string{llm.FinishLength, llm.FinishFilter} {
			resp, err := w.ask(t, func(x *llmtest.Exchange) { x.Piece("so far"); x.Finish(reason); x.Done() })
			if err != nil || resp.FinishReason != reason || resp.Message.Text != "so far" {
				t.Errorf("%s: got %+v, %v", reason, resp, err)
			}
		}
	})
}

func TestReasoningGoesBackWithinItsTurnToItsModelAlone(t *testing.T) {
	everyWire(t, func(t *testing.T, w wire) {
		server := w.open(t, func(x *llmtest.Exchange) {
			if x.Request.Last().Role == llm.RoleTool {
				x.Say("done")
				return
			}
			x.Think("they ask for tea")
			x.Use("a", "lookup", `{"word":"tea"}`)
		})
		req := hello
		req.Tools, req.Reasoning = []llm.Tool{look}, "low"
		model := w.model(t, server, openai.Options{})
		resp, err := model.Generate(t.Context(), req, nil)
		if err != nil || len(resp.Message.Native) == 0 || resp.Message.Text != "" {
			t.Fatalf("got %+v, %v %q", resp, err, server.Refusals())
		}
		stored, err := json.Marshal(resp.Message) // it lives in the transcript between two requests
		if err != nil {
			t.Fatal(err)
		}
		var again llm.Message
		if err := json.Unmarshal(stored, &again); err != nil {
			t.Fatal(err)
		}
		req.Messages = append(slices.Clone(req.Messages), again, llm.Message{Role: llm.RoleTool, CallID: "a", Tool: "lookup", Text: "found"})
		sent := func(model llm.Model) string {
			if _, err := model.Generate(t.Context(), req, nil); err != nil {
				t.Fatal(err, server.Refusals())
			}
			all := server.Requests()
			return string(all[len(all)-1].Raw)
		}
		if raw := sent(model); !strings.Contains(raw, "they ask for tea") {
			t.Errorf("the reasoning is missing in %s", raw)
		}
		if raw := sent(w.model(t, server, openai.Options{Model: "other-model"})); strings.Contains(raw, "they ask for tea") {
			t.Errorf("another model was sent %s", raw)
		}
		other := w.open(t, func(x *llmtest.Exchange) { x.Say("done") })
		if _, err := w.model(t, other, openai.Options{}).Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err, other.Refusals())
		}
		if raw := string(other.Requests()[0].Raw); strings.Contains(raw, "they ask for tea") {
			t.Errorf("another server was sent %s", raw)
		}
		unrefused(t, server)
	})
}

func TestEveryPromptAlternatesAndBeginsWithAUser(t *testing.T) {
	call := llm.Message{Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "a", Name: "lookup", Arguments: `{"broken":`}}}
	result := llm.Message{Role: llm.RoleTool, CallID: "a", Tool: "lookup", Text: ""}
	system := llm.Message{Role: llm.RoleSystem, Text: "be kind"}
	for name, messages := range map[string][]llm.Message{
		"an assistant first":                   {system, assistant("Hi."), user("hello")},
		"an assistant first, without system":   {assistant("Hi."), user("hello")},
		"a call first":                         {system, call, result},
		"two assistants":                       {system, user("hello"), assistant("Hi."), assistant("There."), user("bye")},
		"an assistant and a call":              {system, user("hello"), assistant("Hi."), call, result},
		"two users":                            {system, user("one"), user("two")},
		"a blank assistant between users":      {system, user("one"), assistant(" \n"), user("two")},
		"a user behind a result":               {system, user("one"), call, result, user("two")},
		"broken arguments and empty results":   {system, user("one"), call, result},
		"users behind a blank first message":   {system, assistant(""), user("one"), user("two")},
		"an answer, a call and another answer": {system, user("one"), call, result, assistant("so"), user("and?")},
	} {
		t.Run(name, func(t *testing.T) {
			everyWire(t, func(t *testing.T, w wire) {
				server := w.open(t, func(x *llmtest.Exchange) { x.Say("ok") })
				req := llm.Request{Messages: messages, Tools: []llm.Tool{look}, MaxTokens: 100}
				if _, err := w.model(t, server, openai.Options{}).Generate(t.Context(), req, nil); err != nil {
					t.Errorf("%v %q", err, server.Refusals())
				}
			})
		})
	}
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

func TestOddTextArrivesWhole(t *testing.T) {
	everyWire(t, func(t *testing.T, w wire) {
		odd := "quotes \" and \\ and \t tab, line\nbreak, \u2028, <b>&amp; 茶 🍵 e\u0301"
		server := w.open(t, func(x *llmtest.Exchange) { x.Say(x.Request.Last().Text() + "\x00!") })
		resp, err := w.model(t, server, openai.Options{}).Generate(t.Context(), llm.Request{Messages: []llm.Message{user(odd)}}, nil)
		if err != nil || resp.Message.Text != odd+"!" {
			t.Errorf("got %q, %v", resp.Message.Text, err)
		}
		if _, err := w.model(t, server, openai.Options{}).Generate(t.Context(), llm.Request{Messages: []llm.Message{user("a\xffb\x01")}}, nil); err != nil {
			t.Fatal(err)
		}
		if got := server.Requests()[1].Last().Text(); got != "a\uFFFDb\x01" {
			t.Errorf("what is no UTF-8 was sent as %q", got)
		}
	})
}

func TestTheWireIsKnown(t *testing.T) {
	everyWire(t, func(t *testing.T, w wire) {
		model := w.model(t, w.open(t, nil), openai.Options{})
		if wired, ok := model.(llm.Wired); !ok || wired.Wire() != w.name {
			t.Error("it is not")
		}
	})
}
