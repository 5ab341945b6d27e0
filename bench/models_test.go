package main

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/llm/llmtest"
)

// TestModels has a short conversation with each model.
func TestModels(t *testing.T) {
	talk, err := inventedTalk()
	check.Require(t, err == nil && len(talk.said) >= 100, "%d messages were invented: %v", len(talk.said), err)
	for _, trial := range modelTrials() {
		t.Run(trial.name, func(t *testing.T) {
			t.Parallel()
			var out, progress bytes.Buffer
			turns := 9
			if trial.name == "switched" || trial.name == "gemma" { // here the window fills, and the gauge settles, later
				turns = 20
			}
			got, err := trial.have(t.Context(), screenOf(&out, &progress), talk, turns)
			must(t, err)
			if len(got.Failures) > 0 || got.Answered != turns {
				t.Errorf("%d turns were answered: %q", got.Answered, got.Failures)
			}
			if got.Requests < turns || got.Summaries == 0 || got.Extended == 0 || got.Changes == 0 || got.Cached < 0.4 {
				t.Errorf("too little happened: %+v", got)
			}
			check.That(t, !thinking(trial.name) || got.Counted.Output >= 4000, "the model has not thought: %+v", got.Counted)
		})
	}
}

func TestModelsTellsWhatFailed(t *testing.T) {
	good := llmtest.Totals{Requests: 1, Input: 10}
	for name, c := range map[string]struct {
		tried trialResult
		want  string
	}{
		"nothing":                      {trialResult{Counted: good, Stored: good}, ""},
		"a refused request":            {trialResult{Refused: []string{"too long"}}, "refused: too long"},
		"a prompt that does not grow":  {trialResult{Broken: []string{"request 2"}}, "not an extension: request 2"},
		"usage that differs":           {trialResult{Counted: good}, "the server counted"},
		"a gauge that is off":          {trialResult{Name: "qwen3", Gauge: gaugeError{Mean: 3.1}}, "the gauge is off by 3.1 %"},
		"a turn that was not answered": {trialResult{Turns: 2, Answered: 1}, "1 of 2 turns were answered"},
	} {
		t.Run(name, func(t *testing.T) {
			c.tried.judge()
			if got := strings.Join(c.tried.Failures, "; "); !strings.HasPrefix(got, c.want) || (c.want == "") != (got == "") {
				t.Errorf("it tells %q, not %q", got, c.want)
			}
		})
	}
	t.Run("a lesson that is taught too often is a refusal", func(t *testing.T) {
		server := llmtest.NewServer(func(x *llmtest.Exchange) { x.Say("ok") })
		defer server.Close()
		server.Behave(llmtest.ProfileOf("gemma"))
		var got trialResult
		for range lessonsEach + 1 {
			refuse(t, server)
		}
		got.count(nil, map[string]*llmtest.Server{"gemma": server})
		check.That(t, len(got.Learned) == lessonsEach && len(got.Refused) == 1, "%+v", got)
	})
}

// refuse has a server refuse tools.
func refuse(t *testing.T, server *llmtest.Server) {
	t.Helper()
	body := `{"model":"gemma","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}]}`
	resp, err := http.Post(server.URL+"/chat/completions", "application/json", strings.NewReader(body))
	must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Fatal(resp.Status)
	}
}
