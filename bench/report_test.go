package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func TestReport(t *testing.T) {
	r := recalled{
		Conversations: []quality{{Name: "one", Questions: 1234, At5: 0.5}, {Name: "another", MRR: 0.25}}, All: quality{Name: "all", Questions: 7},
		targets: targets{Targets: []goal{atLeast("recall@10", 50, 77), atMost("p50 ms", 1, 5)}},
	}
	w := conversed{Turns: 20, Trials: []trialResult{{Name: "gpt", Refused: []string{"max_tokens"}}}}
	windows := retained{Windows: []windowed{{Window: 8192, Conversations: []keeping{{Name: "one"}}}}}
	text := reportOf(r) + reportOf(w) + reportOf(windows) + reportOf(load{Samples: make([]sample, maxRows+1)}) +
		reportOf(crashes{Wrong: []string{"m1 is lost"}, Said: -1234, At: map[string]int{"b": 2, "a": 1}})
	check.Contains(t, "the reports", strings.Join(strings.Fields(text), " "),
		"all questions 7", "conversations name questions recall at 5", "one 1 234 0.5", "must 77: missed", "must 5: met",
		"turns 20", "gpt refused: max_tokens", "window 8 192", "101, which --json shows", "wrong m1 is lost", "said -1 234", "at a: 1 b: 2")
	check.Contains(t, "aligned columns", text, "\none      1 234  ", "\nanother  0      ")
	check.Equal(t, "thousands", thousands(1234567), "1 234 567")
}

func leaveRecordings(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		check.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func TestReadRecordings(t *testing.T) {
	dir := leaveRecordings(t, map[string]string{
		"b.jsonl": `{"id":"1:1","time":"2026-01-02T10:00:00Z","author":"Ann","text":"I moved to Turin"}
{"id":"1:2","time":"2026-01-02T10:01:00Z","author":"Bob","text":"Look","attachments":[{"kind":"image","caption":"a bridge"}]}`,
		"b.qa.jsonl": `{"question":"Where is Ann?","answer":"Turin","evidence":["1:1","1:1"],"category":4}
{"question":"How many?","answer":2,"evidence":["1:2; 1:1","9:9"],"category":1}
{"question":"Why?","evidence":[],"category":5}`,
		"a.jsonl": "", "a.qa.jsonl": "",
	})
	all, err := readRecordings(dir)
	check.Require(t, err == nil && len(all) == 2 && all[0].name == "a" && all[1].name == "b", "%+v, %v", all, err)
	b := all[1]
	for i, want := range []string{"Turin [1]", "2 [1 2]", " []"} { // answers are texts, whatever they were
		check.Equal(t, "answer and evidence", fmt.Sprintf("%s %v", b.asked[i].AnswerText(), b.asked[i].seqs), want)
	}
	past := b.said
	check.That(t, len(past) == 2 && past[1].Author == "Bob" && past[1].Attachments[0].Caption == "a bridge" && past[0].Time.Hour() == 10, "%+v", past)
	for want, files := range map[string]map[string]string{
		"NAME.qa.jsonl": nil,
		"open a.jsonl":  {"a.qa.jsonl": ""},
		"object 2":      {"a.qa.jsonl": "", "a.jsonl": "{}\nhello"},
	} {
		check.ErrorContains(t, "a folder", check.ErrorOf(readRecordings(leaveRecordings(t, files))), want)
	}
}

func TestModels(t *testing.T) {
	check.SkipUnderRace(t)
	talk, err := inventedTalk()
	check.Require(t, err == nil && len(talk.said) >= 100, "%d messages were invented: %v", len(talk.said), err)
	for _, trial := range modelTrials() {
		t.Run(trial.name, func(t *testing.T) {
			t.Parallel()
			talk := talk
			turns := 20
			if trial.name != "switched" { // where the gauge settles late
				trial.window = 9000
				talk.said = talk.said[:90]
				turns = 8
			}
			if trial.name == "gemma" { // it fills the window late: it does not think
				turns = 14
			}
			got := check.Must(trial.have(t.Context(), silent, talk, turns))(t)
			check.That(t, len(got.Failures) == 0 && got.Answered == turns, "%d turns were answered: %q", got.Answered, got.Failures)
			check.That(t, got.Requests >= turns && got.Summaries > 0 && got.Extended > 0 && got.Changes > 0 && got.Cached >= 0.4, "too little happened: %+v", got)
			check.That(t, !thinking(trial.name) || got.Counted.Output >= 3000, "the model has not thought: %+v", got.Counted)
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
