package main

import (
	"io"
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
			turns := 9
			if trial.name == "switched" || trial.name == "gemma" { // here the window fills, and the gauge settles, later
				turns = 20
			}
			got := check.Must(trial.have(t.Context(), screenOf(io.Discard, io.Discard), talk, turns))(t)
			check.That(t, len(got.Failures) == 0 && got.Answered == turns, "%d turns were answered: %q", got.Answered, got.Failures)
			check.That(t, got.Requests >= turns && got.Summaries > 0 && got.Extended > 0 && got.Changes > 0 && got.Cached >= 0.4, "too little happened: %+v", got)
			check.That(t, !thinking(trial.name) || got.Counted.Output >= 4000, "the model has not thought: %+v", got.Counted)
		})
	}
}

func TestModelsTellsWhatFailed(t *testing.T) {
	good := llmtest.Totals{Requests: 1, Input: 10}
	for want, tried := range map[string]trialResult{
		"":                            {Counted: good, Stored: good},
		"refused: too long":           {Refused: []string{"too long"}},
		"not an extension: request 2": {Broken: []string{"request 2"}},
		"the server counted":          {Counted: good},
		"the gauge is off by 3.1 %":   {Name: "qwen3", Gauge: gaugeError{Mean: 3.1}},
		"1 of 2 turns were answered":  {Turns: 2, Answered: 1},
	} {
		tried.judge()
		got := strings.Join(tried.Failures, "; ")
		check.HasPrefix(t, "failures", got, want)
		check.Equal(t, "nothing failed: "+want, got == "", want == "")
	}
	// A lesson that is taught too often is a refusal.
	server := llmtest.Serve(t, func(x *llmtest.Exchange) { x.Say("ok") })
	server.Behave(llmtest.ProfileOf("gemma"))
	for range lessonsEach + 1 { // it refuses tools
		body := `{"model":"gemma","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}]}`
		resp := check.Must(http.Post(server.URL+"/chat/completions", "application/json", strings.NewReader(body)))(t)
		check.NoError(t, resp.Body.Close())
		check.Equal(t, "status", resp.StatusCode, http.StatusBadRequest)
	}
	var got trialResult
	got.count(nil, map[string]*llmtest.Server{"gemma": server})
	check.That(t, len(got.Learned) == lessonsEach && len(got.Refused) == 1, "%+v", got)
}
