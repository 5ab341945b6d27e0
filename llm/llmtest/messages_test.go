package llmtest_test

import (
	"net/http"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/llm/llmtest"
)

// postMessages sends a request to the Messages double; with max_tokens unless more has it.
func postMessages(t *testing.T, server *llmtest.Server, model, messages, more string) (int, string) {
	t.Helper()
	if !strings.Contains(more, "max_tokens") {
		more += `,"max_tokens":2000`
	}
	return postTo(t, server, "/messages", `{"model":"`+model+`","stream":true,"messages":[`+messages+`]`+more+`}`)
}

const (
	blocksUser   = `{"role":"user","content":[{"type":"text","text":"hi"}]}`
	blocksReply  = `{"role":"assistant","content":[{"type":"text","text":"hello"}]}`
	blocksCall   = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`
	blocksResult = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]}`
	blocksTool   = `,"tools":[{"name":"f","input_schema":{"type":"object"}}]`
)

func TestTheMessagesDoubleAcceptsWhatTheInterfaceAllows(t *testing.T) {
	server := llmtest.NewServer(func(x *llmtest.Exchange) { x.Say("ok") })
	defer server.Close()
	for name, c := range map[string][2]string{
		"one message":           {blocksUser, ""},
		"a conversation":        {blocksUser + "," + blocksReply + "," + blocksUser, `,"system":[{"type":"text","text":"be kind"}]`},
		"a tool":                {blocksUser + "," + blocksCall + "," + blocksResult, blocksTool},
		"text behind a result":  {blocksUser + "," + blocksCall + "," + strings.Replace(blocksResult, `"1"}`, `"1"},{"type":"text","text":"go on"}`, 1), blocksTool},
		"a picture":             {`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}`, ""},
		"four marks":            {strings.Replace(blocksUser, `"hi"}`, `"hi","cache_control":{"type":"ephemeral"}},`+strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}},`, 2)+`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`, 1), ""},
		"thinking":              {blocksUser, `,"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}`},
		"thinking with budget":  {blocksUser, `,"thinking":{"type":"enabled","budget_tokens":1024}`},
		"a forced tool":         {blocksUser, blocksTool + `,"tool_choice":{"type":"tool","name":"f"}`},
		"temperature and top_k": {blocksUser, `,"temperature":0.5,"top_k":3`},
	} {
		if status, body := postMessages(t, server, "claude-sonnet-4-6", c[0], c[1]); status != http.StatusOK {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	for _, r := range server.Requests() {
		if r.Wire != llm.WireMessages || r.MaxTokens != 2000 {
			t.Errorf("shown as %s with %d tokens", r.Wire, r.MaxTokens)
		}
	}
}

func TestTheMessagesDoubleRefusesWhatTheInterfaceForbids(t *testing.T) {
	server := llmtest.NewServer(func(x *llmtest.Exchange) { x.Say("ok") })
	defer server.Close()
	for name, c := range map[string]struct{ model, messages, more, want string }{
		"an assistant first":              {"", blocksReply + "," + blocksUser, "", "roles must alternate"},
		"two users":                       {"", blocksUser + "," + blocksUser, "", "roles must alternate"},
		"a system message":                {"", `{"role":"system","content":[{"type":"text","text":"x"}]},` + blocksUser, "", "roles must alternate"},
		"no answer wanted":                {"", blocksUser + "," + blocksReply, "", "nothing to answer"},
		"no messages":                     {"", "", "", "empty"},
		"no content":                      {"", `{"role":"user","content":[]}`, "", "not empty"},
		"blank text":                      {"", strings.Replace(blocksUser, "hi", " ", 1), "", "non-whitespace"},
		"no max_tokens":                   {"", blocksUser, `,"max_tokens":0`, "max_tokens"},
		"an unknown field":                {"", blocksUser, `,"prompt_cache_key":"k"`, "unknown field prompt_cache_key"},
		"an unknown field of a block":     {"", strings.Replace(blocksUser, `"hi"`, `"hi","id":"1"`, 1), "", "unknown field id"},
		"a call without a result":         {"", blocksUser + "," + blocksCall + "," + blocksUser, blocksTool, "have no result"},
		"a result without a call":         {"", blocksResult, "", "no call before it"},
		"a result behind text":            {"", blocksUser + "," + blocksCall + "," + strings.Replace(blocksResult, `[{`, `[{"type":"text","text":"x"},{`, 1), blocksTool, "must come before"},
		"arguments that are no object":    {"", blocksUser + "," + strings.Replace(blocksCall, "{}", "[]", 1) + "," + blocksResult, blocksTool, "an object as input"},
		"five marks":                      {"", strings.Replace(blocksUser, `"hi"}`, `"hi"}`+strings.Repeat(`,{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`, 5), 1), "", "maximum of 4 blocks"},
		"a mark of another time":          {"", strings.Replace(blocksUser, `"hi"`, `"hi","cache_control":{"type":"ephemeral","ttl":"30m"}`, 1), "", "cache_control"},
		"a forced tool while thinking":    {"", blocksUser, blocksTool + `,"tool_choice":{"type":"tool","name":"f"},"thinking":{"type":"adaptive"}`, "forces tool use"},
		"a forced tool that is not there": {"", blocksUser, blocksTool + `,"tool_choice":{"type":"tool","name":"g"}`, "no tool g"},
		"a forced tool of the newest":     {"claude-opus-5-5", blocksUser, blocksTool + `,"tool_choice":{"type":"tool","name":"f"}`, "tool_choice"},
		"temperature of the newest":       {"claude-sonnet-5", blocksUser, `,"temperature":0`, "deprecated"},
		"temperature while thinking":      {"", blocksUser, `,"temperature":0,"thinking":{"type":"adaptive"}`, "may only be set to 1"},
		"adaptive thinking of old models": {"claude-haiku-4-5", blocksUser, `,"thinking":{"type":"adaptive"}`, "adaptive"},
		"an effort of old models":         {"claude-haiku-4-5", blocksUser, `,"output_config":{"effort":"low"}`, "effort"},
		"an unknown effort":               {"", blocksUser, `,"output_config":{"effort":"minimal"}`, "effort"},
		"a budget beyond max_tokens":      {"", blocksUser, `,"thinking":{"type":"enabled","budget_tokens":4096}`, "budget_tokens"},
		"no thinking of models that do":   {"claude-fable-5-1", blocksUser, `,"thinking":{"type":"disabled"}`, "disabled"},
		"a forged signature":              {"", blocksUser + "," + strings.Replace(blocksCall, `[`, `[{"type":"thinking","thinking":"hm","signature":"forged"},`, 1) + "," + blocksResult, blocksTool, "signature"},
		"a picture of an assistant":       {"", blocksUser + `,{"role":"assistant","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]},` + blocksUser, "", "has no image"},
		"a picture of another type":       {"", `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"iVBORw0KGgo="}}]}`, "", "appears to be image/png"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.model == "" {
				c.model = "claude-sonnet-4-6"
			}
			status, body := postMessages(t, server, c.model, c.messages, c.more)
			if status != http.StatusBadRequest || !strings.Contains(body, c.want) || !strings.HasPrefix(body, `{"error":{"message"`) {
				t.Errorf("got %d %s, want %q", status, body, c.want)
			}
		})
	}
	if got := server.Requests(); len(got) != 0 {
		t.Errorf("accepted %d", len(got))
	}
}
