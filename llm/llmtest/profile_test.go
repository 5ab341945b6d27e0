package llmtest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

// behave starts a server with one model's profile. Each question is answered after one
// call of a tool, where the request has any.
func behave(t *testing.T, p llmtest.Profile) *llmtest.Server {
	t.Helper()
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		if len(x.Request.Tools) > 0 && x.Request.Last().Role == llm.RoleUser {
			x.Use(fmt.Sprint("call_", x.N), "lookup", `{"word":"tea"}`)
			return
		}
		x.Say("Here ", "you ", "are.")
	})
	server.Behave(p)
	return server
}

// client is the product's model for a profile, on the wire it finds by itself.
func client(t *testing.T, server *llmtest.Server, model string) llm.Model {
	t.Helper()
	if strings.HasPrefix(model, "claude-") {
		m := check.Must(anthropic.New(anthropic.Options{BaseURL: server.URL, Model: model, RetryDelay: time.Millisecond}))(t)
		return m
	}
	m := check.Must(openai.New(openai.Options{BaseURL: server.URL, Model: model, RetryDelay: time.Millisecond}))(t)
	return m
}

func TestProfilesRefuse(t *testing.T) {
	const tools = `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}]`
	for name, c := range map[string]struct {
		model, wire, messages, more string
		status                      int
		want                        string
	}{
		"another model":        {"gpt-6-astra", llm.WireChat, user, `,"model":"gpt-4"`, 404, "does not exist"},
		"tools on chat":        {"gpt-6-astra", llm.WireChat, user, tools, 400, "/v1/responses"},
		"tools that think":     {"gpt-5.6-terra", llm.WireChat, user, tools, 400, "/v1/responses"},
		"tools of gemma":       {"gemma", llm.WireChat, user, tools, 400, "does not support tools"},
		"more than the window": {"qwen3", llm.WireChat, parts("user", `{"type":"text","text":"`+strings.Repeat("word ", 200_000)+`"}`), "", 400, "maximum context length is 128000"},
	} {
		t.Run(name, func(t *testing.T) {
			server := behave(t, llmtest.ProfileOf(c.model))
			if !strings.Contains(c.more, `"model"`) {
				c.more += `,"model":"` + c.model + `"`
			}
			status, body := post(t, server, c.wire, c.messages, c.more)
			check.Equal(t, "status", status, c.status)
			check.Contains(t, "body", body, c.want)
			if got := server.Refusals(); (len(got) == 1) != (c.status != 200) {
				t.Errorf("refusals %q", got)
			}
		})
	}
}

func TestARequestThatDoesNotExtendIsSeen(t *testing.T) {
	differs := ""
	server := llmtest.Serve(t, func(x *llmtest.Exchange) { differs = x.Differs(); x.Say("ok") })
	server.Behave(llmtest.ProfileOf("qwen3"))
	m := client(t, server, "qwen3")
	for i, c := range []struct {
		texts []string
		want  string
	}{
		{[]string{"s", "a"}, ""},
		{[]string{"s", "a", "b", "c"}, ""},
		{[]string{"s", "a", "b", "c and more"}, ""}, // neighbours that were joined
		{[]string{"other", "x"}, ""},                // another conversation
		{[]string{"s", "a", "changed", "c and more"}, "part 3 of 4"},
		{[]string{"s", "a"}, "part 3 of 4"},
	} {
		messages := []llm.Message{{Role: llm.RoleSystem, Text: c.texts[0]}}
		for i, text := range c.texts[1:] {
			messages = append(messages, llm.Message{Role: []llm.Role{llm.RoleUser, llm.RoleAssistant}[i%2], Text: text})
		}
		check.Must(m.Generate(t.Context(), llm.Request{Messages: messages}, nil))(t)
		if (differs == "") != (c.want == "") || !strings.Contains(differs, c.want) {
			t.Errorf("request %d: %q, want %q", i, differs, c.want)
		}
	}
}
