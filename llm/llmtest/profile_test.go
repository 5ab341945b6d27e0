package llmtest_test

import (
	"context"
	"encoding/json"
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

// behave starts a server with one model's profile. Each question is answered after one
// call of a tool, where the request has any.
func behave(t *testing.T, p llmtest.Profile) *llmtest.Server {
	t.Helper()
	server := llmtest.NewServer(func(x *llmtest.Exchange) {
		if len(x.Request.Tools) > 0 && x.Request.Last().Role == llm.RoleUser {
			x.Use(fmt.Sprint("call_", x.N), "lookup", `{"word":"tea"}`)
			return
		}
		x.Say("Here ", "you ", "are.")
	})
	t.Cleanup(server.Close)
	server.Behave(p)
	return server
}

// client is the product's model for a profile, on the wire it finds by itself.
func client(t *testing.T, server *llmtest.Server, model string) llm.Model {
	t.Helper()
	if strings.HasPrefix(model, "claude-") {
		m, err := anthropic.New(anthropic.Options{BaseURL: server.URL, Model: model, RetryDelay: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m, err := openai.New(openai.Options{BaseURL: server.URL, Model: model, RetryDelay: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// prompt is a system prompt that is long enough to be cached.
var prompt = llm.Message{Role: llm.RoleSystem, Text: "Be kind. " + strings.Repeat("This is how you talk to people. ", 200)}

// talk asks so many questions and returns what the model said it counted.
func talk(t *testing.T, model llm.Model, turns int, reasoning string, tools bool) (sum llm.Usage) {
	t.Helper()
	messages := []llm.Message{prompt}
	for turn := range turns {
		used := ask(t, model, &messages, turn, reasoning, tools)
		sum.Prompt += used.Prompt
		sum.Cached += used.Cached
		sum.Written += used.Written
		sum.Completion += used.Completion
	}
	return sum
}

// ask adds a question to messages and what follows from it.
func ask(t *testing.T, model llm.Model, messages *[]llm.Message, turn int, reasoning string, tools bool) (sum llm.Usage) {
	t.Helper()
	lookup := llm.Tool{Name: "lookup", Parameters: json.RawMessage(`{"type":"object"}`), Run: func(context.Context, json.RawMessage) (string, error) { return "a drink", nil }}
	*messages = append(*messages, llm.Message{Role: llm.RoleUser, Text: fmt.Sprint("Question ", turn, ": what is tea?")})
	loop := llm.Loop{
		Model: model, MaxCalls: 3,
		Request: func(context.Context, int) (llm.Request, error) {
			req := llm.Request{Messages: *messages, Head: 1, Reasoning: reasoning, MaxTokens: 500}
			if tools {
				req.Tools = []llm.Tool{lookup}
			}
			return req, nil
		},
		Record: func(calls llm.Message, results []llm.Message) {
			*messages = append(append(*messages, calls), results...)
		},
		Report: func(u llm.Usage) {
			sum.Prompt += u.Prompt
			sum.Cached += u.Cached
			sum.Written += u.Written
			sum.Completion += u.Completion
		},
	}
	resp, err := loop.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	*messages = append(*messages, resp.Message)
	return sum
}

func TestEachProfileAnswersItsClientAndCounts(t *testing.T) {
	// Refusals that teach the client which wire to take.
	learns := map[string]int{"gpt-6-astra": 1, "gpt-5.6-terra": 1}
	for _, name := range llmtest.Profiles() {
		t.Run(name, func(t *testing.T) {
			server := behave(t, llmtest.ProfileOf(name))
			sum := talk(t, client(t, server, name), 6, "low", name != "gemma")
			if got := server.Refusals(); len(got) != learns[name] {
				t.Errorf("refused %q", got)
			}
			total := server.Counted()
			if total.Input != sum.Prompt || total.Cached != sum.Cached || total.Written != sum.Written || total.Output != sum.Completion {
				t.Errorf("the server counted %+v, the model told %+v", total, sum)
			}
			if n := server.Extends(); n != 0 {
				t.Errorf("%d requests of %d did not extend the one before", n, total.Requests)
			}
			// The prompt is the same but for its end: nearly all of it must be read from the cache.
			if share := float64(total.Cached) / float64(total.Input); share < 0.7 || share > 0.99 {
				t.Errorf("%.0f %% of the prompts came from the cache: %+v", 100*share, total)
			}
			t.Logf("%+v", total)
		})
	}
}

// TestModelsAreSwitchedInTheMiddle: one conversation goes from model to model and back,
// over every wire. Reasoning stays with the model that wrote it.
func TestModelsAreSwitchedInTheMiddle(t *testing.T) {
	names := []string{"qwen3", "gpt-6-astra", "claude-sonnet-4-6", "deepseek-v4", "gpt-5.1"}
	server := behave(t, llmtest.ProfileOf(names[0]))
	var all []llmtest.Profile
	models := map[string]llm.Model{}
	for _, name := range names {
		all = append(all, llmtest.ProfileOf(name))
		models[name] = client(t, server, name)
	}
	server.Behave(all...)
	messages := []llm.Message{prompt}
	for turn := range 3 * len(names) {
		ask(t, models[names[turn%len(names)]], &messages, turn, "low", true)
	}
	if got := server.Refusals(); len(got) != 1 || !strings.Contains(got[0], "/v1/responses") {
		t.Errorf("refused %q", got)
	}
	if n := server.Extends(); n != 0 {
		t.Errorf("%d requests did not extend the one before", n)
	}
	if got := server.Counted().Requests; got != 6*len(names) {
		t.Errorf("%d requests were answered", got)
	}
}

func TestProfilesRefuse(t *testing.T) {
	const (
		tools  = `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`
		called = `{"role":"user","content":"hi"},{"role":"assistant","content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"1"}`
	)
	for name, c := range map[string]struct {
		model, path, body string
		status            int
		want              string
	}{
		"another model":             {"gpt-6-astra", "/chat/completions", `{"model":"gpt-4","messages":[` + user + `]}`, 404, "does not exist"},
		"another wire":              {"qwen3", "/responses", `{"model":"qwen3","store":false,"input":[` + user + `]}`, 404, "page not found"},
		"tools on chat":             {"gpt-6-astra", "/chat/completions", `{"model":"gpt-6-astra","messages":[` + user + `]` + tools + `}`, 400, "/v1/responses"},
		"tools that think":          {"gpt-5.6-terra", "/chat/completions", `{"model":"gpt-5.6-terra","messages":[` + user + `]` + tools + `}`, 400, "/v1/responses"},
		"tools that do not think":   {"gpt-5.6-terra", "/chat/completions", `{"model":"gpt-5.6-terra","reasoning_effort":"none","messages":[` + user + `]` + tools + `}`, 200, ""},
		"tools of an older model":   {"gpt-5.1", "/chat/completions", `{"model":"gpt-5.1","messages":[` + user + `]` + tools + `}`, 200, ""},
		"temperature":               {"gpt-6-astra", "/chat/completions", `{"model":"gpt-6-astra","temperature":0,"messages":[` + user + `]}`, 400, "temperature"},
		"tools of gemma":            {"gemma", "/chat/completions", `{"model":"gemma","messages":[` + user + `]` + tools + `}`, 400, "does not support tools"},
		"results of tools to gemma": {"gemma", "/chat/completions", `{"model":"gemma","messages":[` + called + `]}`, 400, "roles must alternate"},
		"more than the window":      {"qwen3", "/chat/completions", `{"model":"qwen3","messages":[{"role":"user","content":"` + strings.Repeat("word ", 200_000) + `"}]}`, 400, "maximum context length is 128000"},
	} {
		t.Run(name, func(t *testing.T) {
			server := behave(t, llmtest.ProfileOf(c.model))
			resp, err := http.Post(server.URL+c.path, "application/json", strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body := make([]byte, 4096)
			n, _ := resp.Body.Read(body) // the first piece is enough
			if resp.StatusCode != c.status || !strings.Contains(string(body[:n]), c.want) {
				t.Errorf("got %d %s", resp.StatusCode, body[:n])
			}
			if got := server.Refusals(); (len(got) == 1) != (c.status != 200) {
				t.Errorf("refusals %q", got)
			}
		})
	}
}

// TestReasoningMustComeBack: models refuse the result of a tool without the reasoning
// before its call.
func TestReasoningMustComeBack(t *testing.T) {
	for model, want := range map[string]string{
		"gpt-6-astra": "required 'reasoning' item", "claude-sonnet-4-6": "Expected `thinking`", "deepseek-v4": "reasoning_content",
	} {
		t.Run(model, func(t *testing.T) {
			server := behave(t, llmtest.ProfileOf(model))
			m := client(t, server, model)
			req := llm.Request{
				Messages: []llm.Message{{Role: llm.RoleUser, Text: "tea?"}}, Reasoning: "low", MaxTokens: 500,
				Tools: []llm.Tool{{Name: "lookup", Parameters: json.RawMessage(`{"type":"object"}`)}},
			}
			resp, err := m.Generate(t.Context(), req, nil)
			if err != nil || len(resp.Message.Calls) != 1 {
				t.Fatal(resp, err)
			}
			resp.Message.Native = nil
			req.Messages = append(req.Messages, resp.Message, llm.Message{Role: llm.RoleTool, CallID: resp.Message.Calls[0].ID, Text: "1"})
			_, _ = m.Generate(t.Context(), req, nil) // the model may recover; the refusal is what counts
			if !slices.ContainsFunc(server.Refusals(), func(why string) bool { return strings.Contains(why, want) }) {
				t.Errorf("refusals %q", server.Refusals())
			}
		})
	}
}

func TestARequestThatDoesNotExtendIsCounted(t *testing.T) {
	server := behave(t, llmtest.ProfileOf("qwen3"))
	m := client(t, server, "qwen3")
	send := func(texts ...string) {
		messages := []llm.Message{{Role: llm.RoleSystem, Text: texts[0]}}
		for i, text := range texts[1:] {
			messages = append(messages, llm.Message{Role: []llm.Role{llm.RoleUser, llm.RoleAssistant}[i%2], Text: text})
		}
		if _, err := m.Generate(t.Context(), llm.Request{Messages: messages}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range []struct {
		texts  []string
		broken int
	}{
		{[]string{"s", "a"}, 0},
		{[]string{"s", "a", "b", "c"}, 0},
		{[]string{"s", "a", "b", "c and more"}, 0}, // neighbours that were joined
		{[]string{"other", "x"}, 0},                // another conversation
		{[]string{"s", "a", "changed", "c and more"}, 1},
		{[]string{"s", "a"}, 2},
	} {
		send(c.texts...)
		if got := server.Extends(); got != c.broken {
			t.Errorf("after request %d: %d, want %d", i, got, c.broken)
		}
	}
}

// TestCacheRules: what a second request reads and writes.
func TestCacheRules(t *testing.T) {
	long := strings.Repeat("one two three four five. ", 400)
	system := llm.Message{Role: llm.RoleSystem, Text: long}
	send := func(t *testing.T, server *llmtest.Server, model string, messages ...llm.Message) llm.Usage {
		t.Helper()
		resp, err := client(t, server, model).Generate(t.Context(), llm.Request{Messages: append([]llm.Message{system}, messages...), Head: 1, MaxTokens: 100}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Usage
	}
	user := func(text string) llm.Message { return llm.Message{Role: llm.RoleUser, Text: text} }
	answer := llm.Message{Role: llm.RoleAssistant, Text: "Here you are."}
	for _, c := range []struct {
		model                      string
		extended, changed, written bool // what is read when the prompt grows, and when its end changes; writes are counted
	}{
		{"gpt-5.1", true, true, false},
		{"qwen3", true, true, false},
		{"claude-sonnet-4-6", true, true, true}, // the system prompt has a mark
		{"deepseek-v4", true, false, false},
	} {
		t.Run(c.model, func(t *testing.T) {
			server := behave(t, llmtest.ProfileOf(c.model))
			first := send(t, server, c.model, user("a"))
			if first.Cached != 0 || (first.Written > 0) != c.written || first.Prompt < 2000 {
				t.Errorf("the first: %+v", first)
			}
			if got := send(t, server, c.model, user("a"), answer, user("b")); (got.Cached > got.Prompt-200) != c.extended || got.Written > 200 {
				t.Errorf("grown: %+v", got)
			}
			if got := send(t, server, c.model, user("other")); (got.Cached > 1000) != c.changed {
				t.Errorf("changed: %+v", got)
			}
		})
	}
}
