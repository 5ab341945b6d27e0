// Prompts, thoughts that a model writes in tags before its answer, and requests that are changed because a
// server refuses their form, on every protocol.

package llm_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/llm/openai"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func TestPromptAlternatesRoles(t *testing.T) {
	call := llm.Message{Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "a", Name: "lookup", Arguments: `{"broken":`}}}
	result := llm.Message{Role: llm.RoleTool, CallID: "a", Tool: "lookup", Text: ""}
	system := llm.Message{Role: llm.RoleSystem, Text: "be kind"}
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for name, messages := range map[string][]llm.Message{
			"an assistant first":                {system, assistant("Hi."), user("hello")},
			"a call first":                      {system, call, result},
			"a blank user":                      {system, user("one"), assistant("Hi."), user(" \n")},
			"two assistants":                    {system, user("hello"), assistant("Hi."), assistant("There."), user("bye")},
			"an assistant and a call":           {system, user("hello"), assistant("Hi."), call, result},
			"a blank assistant between users":   {system, user("one"), assistant(" \n"), user("two")},
			"a call, broken, and other answers": {system, user("one"), call, result, assistant("so"), user("and?")},
		} {
			server := w.open(t, func(x *llmtest.Exchange) { x.Say("ok") })
			req := llm.Request{Messages: messages, Tools: []llm.Tool{look}, MaxTokens: 100}
			check.Equal(t, name, check.ErrorOf(w.model(t, server, openai.Options{}).Generate(t.Context(), req, nil)), nil)
		}
	})
}

func TestPicturesOfResultsAreShown(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		calls := assistant("")
		calls.Calls = []llm.Call{{ID: "a", Name: look.Name}, {ID: "b", Name: look.Name}}
		pictures := []llm.Image{{Data: png, Label: "image from look"}, {Data: slices.Concat(png, png), Label: "image from look"}}
		results := []llm.Message{
			{Role: llm.RoleTool, CallID: "a", Tool: look.Name, Text: "[picture: image/png]", Images: pictures},
			{Role: llm.RoleTool, CallID: "b", Tool: look.Name, Images: pictures[:1]},
		}
		for _, behind := range [][]llm.Message{nil, {assistant("I see.")}, {user("and?")}} {
			server := w.open(t, func(x *llmtest.Exchange) { x.Say("ok") })
			messages := slices.Concat([]llm.Message{user("look"), calls}, results, behind)
			if behind != nil && behind[0].Role == llm.RoleAssistant {
				messages = append(messages, user("thanks"))
			}
			_, err := w.model(t, server, openai.Options{}).Generate(t.Context(), llm.Request{Messages: messages, Tools: []llm.Tool{look}, MaxTokens: 100}, nil)
			check.NoError(t, err)
			got := map[llm.Role][]int{}
			for _, m := range server.Requests()[0].Messages {
				if m.Role == llm.RoleTool || len(m.Images) > 0 {
					got[m.Role] = append(got[m.Role], len(m.Images))
				}
			}
			want := map[llm.Role][]int{llm.RoleTool: {2, 1}}
			if w.name == llm.WireChat { // where results are only text
				want = map[llm.Role][]int{llm.RoleTool: {0, 0}, llm.RoleUser: {3}}
			}
			check.Equal(t, "pictures", fmt.Sprint(got), fmt.Sprint(want))
			check.Len(t, "refusals", server.Refusals(), 0)
		}
	})
}

func TestUnusualTextArrivesWhole(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		odd := "quotes \" and \\ and \t tab, line\nbreak, \u2028, <b>&amp; 茶 🍵 e\u0301"
		server := w.open(t, func(x *llmtest.Exchange) { x.Say(x.Request.Last().Text() + "\x00!") })
		model := w.model(t, server, openai.Options{})
		resp := check.Must(model.Generate(t.Context(), llm.Request{Messages: []llm.Message{user(odd)}}, nil))(t)
		check.Equal(t, "reply", resp.Message.Text, odd+"!")
		check.Must(model.Generate(t.Context(), llm.Request{Messages: []llm.Message{user("a\xffb\x01")}}, nil))(t)
		check.Equal(t, "invalid UTF-8 was sent", server.Requests()[1].Last().Text(), "a\uFFFDb\x01")
	})
}

func TestThoughtInTagsIsNotPartOfTheAnswer(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for name, c := range map[string]struct {
			pieces []string
			text   string
			hidden bool // the thought is not shown
		}{
			"a thought":                         {[]string{"<think>They greet me.</think>\n\nHello"}, "Hello", true},
			"a thought in pieces":               {[]string{"<thi", "nk>", "They ", "greet</thi", "nking> me.</th", "ink>", "\n", "\n", "Hello", " ", "\n", "there"}, "Hello \nthere", true},
			"a thought after white space":       {[]string{"\n", " <thinking>They greet me.</think></thin", "king>", "Hello"}, "Hello", true},
			"only a thought":                    {[]string{"<think>They greet me.", "</think>", "\n"}, "", true},
			"an answer about the tag":           {[]string{"Write <think>", "this</think>", " first."}, "Write <think>this</think> first.", true},
			"an answer that begins like one":    {[]string{"<thi", "s> is no tag"}, "<this> is no tag", true},
			"an answer that ends where one may": {[]string{"<", "think"}, "<think", true},
			// The templates of some models contain the opening tag, so their servers do not send it.
			"without the opening tag": {[]string{"They greet me.\n</think>\n\nHello"}, "Hello", false},
			"without an answer":       {[]string{"They greet me.\n</thinking>"}, "", false},
			"a tag in code":           {[]string{"Close it with `</think>`\nand answer."}, "Close it with `</think>`\nand answer.", false},
			"a tag in more code":      {[]string{"```\nthought\n</think>\nanswer\n```"}, "```\nthought\n</think>\nanswer\n```", false},
			"both tags in the middle": {[]string{"It is <think>\nthought\n</think>\nthen the answer."}, "It is <think>\nthought\n</think>\nthen the answer.", false},
		} {
			server := w.open(t, func(x *llmtest.Exchange) { x.Say(c.pieces...) })
			shown := ""
			resp := check.Must(w.model(t, server, openai.Options{}).Generate(t.Context(), hello, func(delta string) { shown += delta }))(t)
			check.Equal(t, name, resp.Message.Text, c.text)
			check.That(t, !c.hidden || strings.HasPrefix(resp.Message.Text, shown), "%s: got %q, shown %q", name, resp.Message.Text, shown)
		}
	})
}

// A model that has only reasoned, up to the limit, gets room immediately, in whatever form it reasons.
// Some servers show nothing of it.
func TestAnswerOfReasoningAloneIsRepeatedWithRoom(t *testing.T) {
	for name, reason := range map[string]func(*llmtest.Exchange){
		"in a field": func(x *llmtest.Exchange) { x.Think("so") },
		"in tags":    func(x *llmtest.Exchange) { x.Piece("<think>so") },
		"hidden":     func(*llmtest.Exchange) {},
	} {
		forEveryProtocol(t, func(t *testing.T, w wire) {
			server := w.open(t, func(x *llmtest.Exchange) {
				x.Counted = (llm.Usage{Prompt: 9, Completion: 1})
				if x.Request.MaxTokens > 100 {
					x.Say("ok")
					return
				}
				reason(x)
				x.Finish(llm.FinishLength)
				x.Done()
			})
			var failed []llm.Usage
			req := llm.Request{Messages: hello.Messages, MaxTokens: 100, Failed: func(u llm.Usage) { failed = append(failed, u) }}
			model := w.model(t, server, openai.Options{})
			for range 2 {
				check.Equal(t, name, check.Must(model.Generate(t.Context(), req, nil))(t).Message.Text, "ok")
			}
			want := []llm.Usage{{Prompt: 9, Completion: 1}}
			if w.name == llm.WireResponses { // where there is always room
				want = nil
			}
			check.EqualAll(t, name+": the usage of answers without room", failed, want)
		})
	}
}

func TestEachAttemptIsCharged(t *testing.T) {
	const noForced = "This model does not support the tool_choice."
	spent := errors.New("all spent")
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for name, c := range map[string]struct {
			refuse           func(*llmtest.Exchange)
			budget, requests int
			kind             llm.Kind // "": the error is spent
		}{
			"no call without budget":       {func(x *llmtest.Exchange) { x.Say("fine") }, 0, 0, ""},
			"no retry without budget":      {func(x *llmtest.Exchange) { x.Refuse(503, "", "busy") }, 2, 2, llm.KindOverloaded},
			"no other form without budget": {func(x *llmtest.Exchange) { x.Reject(400, "invalid_request_error", noForced) }, 1, 1, llm.KindBadRequest},
			"none after text was shown": {func(x *llmtest.Exchange) {
				x.Piece("half ")
				x.Chunk(`{"type":"error","error":{"code":400,"message":%q}}`, noForced)
			}, 9, 1, llm.KindBadRequest},
		} {
			server := w.open(t, c.refuse)
			req := hello
			req.Tools = []llm.Tool{look}
			req.ForceTool = look.Name // which a server may refuse
			req.Spend = func() error {
				c.budget--
				if c.budget < 0 {
					return spent
				}
				return nil
			}
			_, err := w.model(t, server, openai.Options{MaxRetries: 3}).Generate(t.Context(), req, func(string) {})
			check.Equal(t, name, llm.KindOf(err), c.kind)
			check.Equal(t, name+": the budget is the error", errors.Is(err, spent), c.kind == "")
			check.Len(t, name+": requests", server.Requests(), c.requests)
		}
	})
}

func TestLongestAnswerIsLearned(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for name, refusal := range map[string]string{
			"OpenAI":    "max_tokens is too large: 16484. This model supports at most 8192 completion tokens, whereas you provided 16484.",
			"Responses": "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 8192, but got 16484 instead.",
			"Anthropic": "max_tokens: 16484 > 8192, which is the maximum allowed number of output tokens for m",
		} {
			var bounds []int
			server := w.open(t, llmtest.Refusing(refusal, func(r llmtest.Request) bool {
				bounds = append(bounds, r.MaxTokens)
				return r.MaxTokens > 8192
			}))
			model := w.model(t, server, openai.Options{})
			req := hello
			req.MaxTokens = 100
			req.Reasoning = "high"
			for range 2 {
				check.NoError(t, check.ErrorOf(model.Generate(t.Context(), req, nil)))
			}
			check.EqualAll(t, name, bounds, []int{16484, 8192, 8192})
		}
		server := w.open(t, func(x *llmtest.Exchange) { // one that allows less each time
			x.Reject(400, "invalid_request_error", fmt.Sprint("max_output_tokens: at most ", x.Request.MaxTokens-1))
		})
		req := hello
		req.MaxTokens = 5000
		check.Equal(t, "error kind", llm.KindOf(check.ErrorOf(w.model(t, server, openai.Options{}).Generate(t.Context(), req, nil))), llm.KindBadRequest)
		check.Len(t, "requests", server.Requests(), 9)
	})
}

// grow appends a random step of a conversation to messages: a turn's end and the next message, or a round of tools.
func grow(r *rand.Rand, n int, messages []llm.Message) []llm.Message {
	if r.IntN(2) == 0 {
		m := user(fmt.Sprintf("question %d, \"quoted\" 茶", n))
		if r.IntN(4) == 0 {
			m.Images = []llm.Image{{Data: png, Label: "cat.png"}}
		}
		return append(messages, assistant(fmt.Sprint("answer ", n)), m)
	}
	step := assistant(strings.Repeat("so ", r.IntN(2)))
	results := []llm.Message(nil)
	for i := range 1 + r.IntN(3) {
		id := fmt.Sprintf("c%d_%d", n, i)
		step.Calls = append(step.Calls, llm.Call{ID: id, Name: look.Name, Arguments: `{"n":1}`})
		results = append(results, llm.Message{Role: llm.RoleTool, CallID: id, Tool: look.Name, Text: strings.Repeat("found ", r.IntN(3))})
		if r.IntN(3) == 0 {
			results[i].Images = []llm.Image{{Data: png, Label: "image from " + look.Name}}
		}
	}
	return append(append(messages, step), results...)
}

// TestEachRequestExtendsPrevious: tools and messages of a request, before their end, are byte for byte
// the beginning of the next request's, whatever else differs. Only the marks of Messages move.
func TestEachRequestExtendsPrevious(t *testing.T) {
	check.SkipUnderRace(t)
	marks := regexp.MustCompile(`,"cache_control":\{[^}]*\}`)
	for model, w := range map[string]wire{"m": wires[0], "gpt-5.1": wires[1], "gpt-6-sol": wires[1], "claude-sonnet-5": wires[2]} { // gpt-6-sol has breakpoints
		t.Run(model, func(t *testing.T) {
			server := w.open(t, func(x *llmtest.Exchange) { x.Say("ok") })
			m := check.Must(w.connect(openai.Options{Model: model, MaxRetries: -1, HTTPClient: llmtest.InMemory(server)}))(t)
			r := rand.New(rand.NewPCG(1, 2))
			before := []byte(nil)
			req := llm.Request{Head: 2, Tools: []llm.Tool{look}, Messages: []llm.Message{hello.Messages[0], user("summary"), user("begin")}}
			for n := range 40 {
				req.MaxTokens = 100 + n
				req.ForceTool = ""
				if n%7 == 0 {
					req.ForceTool = look.Name
				}
				check.NoError(t, check.ErrorOf(m.Generate(t.Context(), req, nil)))
				raw := marks.ReplaceAll(server.Requests()[n].Raw, nil)
				raw = raw[bytes.Index(raw, []byte(`"tools":`)):]
				check.Require(t, bytes.HasPrefix(raw, before), "request %d\n%s\ndoes not extend the previous one\n%s", n, raw, before)
				before = bytes.TrimSuffix(raw, []byte("]}]}"))
				if w.name != llm.WireMessages {
					before = raw[:bytes.LastIndex(raw, []byte(`],"stream":`))]
				}
				req.Messages = grow(r, n, req.Messages)
			}
		})
	}
}
