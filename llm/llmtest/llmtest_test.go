package llmtest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/llm"
	"cairn/llm/llmtest"
)

// postTo sends a request and returns the status and the body.
func postTo(t *testing.T, server *llmtest.Server, path, request string) (int, string) {
	t.Helper()
	resp, err := http.Post(server.URL+path, "application/json", strings.NewReader(request))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// post sends messages, and more fields, on chat completions.
func post(t *testing.T, server *llmtest.Server, messages, more string) (int, string) {
	t.Helper()
	return postTo(t, server, "/chat/completions", `{"model":"m","messages":[`+messages+`]`+more+`}`)
}

const (
	user   = `{"role":"user","content":"hi"}`
	system = `{"role":"system","content":"be kind"}`
	calls  = `{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	a      = `{"role":"tool","tool_call_id":"a","content":""}`
	b      = `{"role":"tool","tool_call_id":"b","content":"2"}`
	reply  = `{"role":"assistant","content":"hello"}`
	shown  = `{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}`
	words  = `{"type":"text","text":"look"}`
)

// parts is a message whose content is a list.
func parts(role string, parts ...string) string {
	return `{"role":"` + role + `","content":[` + strings.Join(parts, ",") + `]}`
}

func TestServerTakesWhatAStrictProviderTakes(t *testing.T) {
	server := llmtest.NewServer(func(x *llmtest.Exchange) { x.Say("ok") })
	defer server.Close()
	for _, messages := range [][]string{
		{user},
		{system, user, reply, user},
		{user, calls, b, a},
		{user, calls, a, b, reply, user, calls, a, b}, // ids may come again in another message
		{parts("user", shown)},
		{parts("system", words), parts("user", words, shown, words, shown)},
	} {
		if status, body := post(t, server, strings.Join(messages, ","), ""); status != http.StatusOK {
			t.Errorf("%v: %d %s", messages, status, body)
		}
	}
	if got := server.Refusals(); len(got) != 0 {
		t.Errorf("refused %v", got)
	}
}

func TestServerRefusesWhatAStrictProviderRefuses(t *testing.T) {
	server := llmtest.NewServer(func(x *llmtest.Exchange) { x.Say("ok") })
	defer server.Close()
	one := strings.ReplaceAll(calls, `"b"`, `"a"`)
	for name, c := range map[string]struct{ messages, more, want string }{
		"no messages":               {"", "", "messages is empty"},
		"no JSON":                   {"{", "", "not what the protocol says"},
		"an unknown role":           {`{"role":"human","content":"hi"}`, "", "no such role"},
		"two system messages":       {system + "," + system + "," + user, "", "only the first"},
		"a late system message":     {user + "," + reply + "," + system + "," + user, "", "only the first"},
		"an empty system message":   {`{"role":"system","content":""},` + user, "", "it is empty"},
		"an empty user message":     {`{"role":"user","content":""}`, "", "it is empty"},
		"an empty assistant":        {user + `,{"role":"assistant","content":""},` + user, "", "it is empty"},
		"content that is missing":   {user + `,{"role":"assistant","tool_calls":[]},` + user, "", "content is missing"},
		"content that is null":      {`{"role":"user","content":null}`, "", "content is missing"},
		"two users in a row":        {user + "," + user, "", "two in a row"},
		"an assistant at the end":   {user + "," + reply, "", "nothing to answer"},
		"a system alone":            {system, "", "nothing to answer"},
		"a result without a call":   {user + "," + a, "", "no call before it"},
		"a result that comes twice": {user + "," + calls + "," + a + "," + a, "", "no call before it"},
		"a result that comes late":  {user + "," + calls + "," + a + "," + b + "," + user + "," + b, "", "no call before it"},
		"a call without a result":   {user + "," + calls + "," + a + "," + user, "", "have no result"},
		"one id twice":              {user + "," + one + "," + a, "", "there twice"},
		"arguments that are broken": {user + "," + strings.ReplaceAll(calls, `"{}"`, `"{"`) + "," + a + "," + b, "", "JSON arguments"},
		"a schema that is broken":   {user, `,"tools":[{"type":"function","function":{"name":"f","parameters":"x"}}]`, "no schema"},
		"parts of nothing":          {parts("user"), "", "a list of nothing"},
		"an empty part":             {parts("user", `{"type":"text","text":""}`), "", "no part of type text"},
		"an unknown part":           {parts("user", `{"type":"input_image","image_url":{"url":"x"}}`), "", "no part of type text"},
		"a picture on the web":      {parts("user", `{"type":"image_url","image_url":{"url":"https://example.org/cat.png"}}`), "", "no data URL"},
		"a picture of no type":      {parts("user", `{"type":"image_url","image_url":{"url":"data:;base64,iVBORw0KGgo="}}`), "", "no data URL"},
		"a picture that is broken":  {parts("user", `{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo"}}`), "", "no base64"},
		"a picture of another type": {parts("user", `{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,iVBORw0KGgo="}}`), "", "appears to be image/png"},
		"a picture of the system":   {parts("system", shown) + "," + user, "", "only a user"},
		"a picture of an assistant": {user + "," + parts("assistant", shown) + "," + user, "", "only a user"},
		"a picture of a tool":       {user + "," + calls + "," + strings.Replace(a, `""`, "["+shown+"]", 1) + "," + b, "", "only a user"},
		"two tools of one name":     {user, `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}},{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`, "two named f"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := post(t, server, c.messages, c.more)
			if status != http.StatusBadRequest || !strings.Contains(body, c.want) {
				t.Errorf("got %d %s, want %q", status, body, c.want)
			}
		})
	}
	if got := server.Requests(); len(got) != 0 {
		t.Errorf("took %d", len(got))
	}
}

func TestServerRefusesWhatIsLargerThanItsWindow(t *testing.T) {
	server := llmtest.NewServer(func(x *llmtest.Exchange) { x.Say("ok") })
	defer server.Close()
	server.SetWindow(100)
	if status, body := post(t, server, user, `,"max_tokens":50`); status != http.StatusOK {
		t.Errorf("got %d %s", status, body)
	}
	for name, c := range map[string][2]string{
		"by its prompt": {`{"role":"user","content":"` + strings.Repeat("word ", 100) + `"}`, ""},
		"by its answer": {user, `,"max_tokens":95`},
	} {
		t.Run(name, func(t *testing.T) {
			if status, body := post(t, server, c[0], c[1]); status != http.StatusBadRequest || !strings.Contains(body, "context_length_exceeded") {
				t.Errorf("got %d %s", status, body)
			}
		})
	}
}

func TestModelShowsItsWordsOneByOneInItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &llmtest.Model{Tokens: 4000, Delay: time.Hour, Func: func(context.Context, int, llm.Request) (llm.Response, error) {
			return llmtest.Say("one two three"), nil
		}}
		var shown []string
		begun := time.Now()
		resp, err := model.Generate(t.Context(), llm.Request{}, func(delta string) { shown = append(shown, delta) })
		if err != nil || strings.Join(shown, "|") != "one |two |three" || resp.Message.Text != "one two three" {
			t.Errorf("got %q, %v", shown, err)
		}
		if took := time.Since(begun); took != 3*time.Hour {
			t.Errorf("it took %v", took)
		}
		if got := model.Window(t.Context()); got.Tokens != 4000 || len(model.Requests()) != 1 {
			t.Errorf("window %+v, %d requests", got, len(model.Requests()))
		}
	})
}

func TestModelStopsWhenItIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &llmtest.Model{Delay: time.Hour, Func: func(context.Context, int, llm.Request) (llm.Response, error) {
			return llmtest.Say("never"), nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := model.Generate(ctx, llm.Request{}, nil); err != context.DeadlineExceeded {
			t.Errorf("got %v", err)
		}
	})
}

func TestModelWithoutAScriptFails(t *testing.T) {
	if _, err := new(llmtest.Model).Generate(t.Context(), llm.Request{}, nil); err == nil {
		t.Error("it answered")
	}
}
