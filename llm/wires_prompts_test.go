// What a prompt may contain, on every protocol.

package llm_test

import (
	"testing"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

func TestPicturesAreSent(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		server := w.open(t, func(x *llmtest.Exchange) { x.Say("a cat") })
		m := user("look")
		m.Images = []llm.Image{{Label: "image of #1: cat.png", Data: png}, {Label: "a drawing", Type: "image/svg+xml", Data: []byte("<svg/>")}}
		if _, err := w.model(t, server, openai.Options{}).Generate(t.Context(), llm.Request{Messages: []llm.Message{m}}, nil); err != nil {
			t.Fatal(err, server.Refusals())
		}
		got := server.Requests()[0].Last()
		check.Len(t, "text at the server", got.Images, 1)
		check.Equal(t, "picture", string(got.Images[0].Data), string(png))
		check.Equal(t, "type of the picture", got.Images[0].Type, "image/png")
		check.Contains(t, "stored text", got.Text(), "image of #1: cat.png", "a drawing, not shown", "look")
	})
}

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
			_, err := w.model(t, server, openai.Options{}).Generate(t.Context(), req, nil)
			check.That(t, err == nil, "%s: %v %q", name, err, server.Refusals())
		}
	})
}

func TestUnusualTextArrivesWhole(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		odd := "quotes \" and \\ and \t tab, line\nbreak, \u2028, <b>&amp; 茶 🍵 e\u0301"
		server := w.open(t, func(x *llmtest.Exchange) { x.Say(x.Request.Last().Text() + "\x00!") })
		resp, err := w.model(t, server, openai.Options{}).Generate(t.Context(), llm.Request{Messages: []llm.Message{user(odd)}}, nil)
		check.NoError(t, err)
		check.Equal(t, "reply", resp.Message.Text, odd+"!")
		check.NoError(t, check.ErrorOf(w.model(t, server, openai.Options{}).Generate(t.Context(), llm.Request{Messages: []llm.Message{user("a\xffb\x01")}}, nil)))
		check.Equal(t, "invalid UTF-8 was sent", server.Requests()[1].Last().Text(), "a\uFFFDb\x01")
	})
}
