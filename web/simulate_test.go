package web

import (
	"context"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/simulate"
)

func TestSimulateAPI(t *testing.T) {
	r := newRig(t, rigOptions{model: func(context.Context, int, llm.Request) (llm.Response, error) { // counts nothing
		return llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Text: "Noted."}, FinishReason: llm.FinishStop}, nil
	}})
	r.talk(here, 30)
	var report simulate.Report
	r.do(200, &report, "POST", "/api/simulate", strings.Replace(`{"conversation":"HERE","variants":[{"settings":{"background_threshold":0.5,"economy":true}},{"name":"wide","settings":{"context_window":32000}}]}`, "HERE", here, 1))
	check.Require(t, len(report.Variants) == 3 && report.Messages != 0, "got %+v", report)
	inForce, early, wide := report.Variants[0], report.Variants[1], report.Variants[2]
	if inForce.Name != simulate.InForce || early.Name != "background_threshold=0.5 economy=true" || wide.Name != "wide" || wide.Window != 32000 {
		t.Errorf("variants %q, %q, %q of window %d", inForce.Name, early.Name, wide.Name, wide.Window)
	}
	if early.Verbatim.Mean >= inForce.Verbatim.Mean || len(wide.Compactions) >= len(inForce.Compactions) {
		t.Errorf("verbatim %d and %d; %d and %d compactions", inForce.Verbatim.Mean, early.Verbatim.Mean, len(inForce.Compactions), len(wide.Compactions))
	}
	many := strings.Repeat(`{},`, maxVariants) + `{}`
	for body, want := range map[string]struct {
		status int
		text   string
	}{
		`{"conversation":"HERE","variants":[{"settings":{"background_treshold":0.5}}]}`: {422, "did you mean background_threshold"},
		`{"conversation":"HERE","variants":[{"settings":{"background_threshold":5}}]}`:  {422, "background_threshold"},
		`{"conversation":"HERE","variants":[{"settings":{"keep_first":null}}]}`:         {422, "keep_first: must be a number"},
		`{"conversation":"HERE","variants":[` + many + `]}`:                             {422, "at most 8"},
		`{"conversation":"terminal:nowhere"}`:                                           {404, "terminal:nowhere"},
		`{"conversation":`:                                                              {400, ""},
	} {
		text := r.do(want.status, nil, "POST", "/api/simulate", strings.Replace(body, "HERE", here, 1))
		check.Contains(t, body, text, want.text)
	}
}

func TestSettingsArePreviewed(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk(here, 30)
	p := pageOf(here) + "/settings/preview?"
	for query, wants := range map[string][]string{
		"background_threshold=0.5":  {"<svg", "as it happened", "background_threshold=0.5", "in force", "verbatim tokens, mean"},
		"":                          {"Nothing to compare yet"},
		"background_threshold=0.99": {"must be below"},
		"keep_last_n=%3Cscript%3Ealert(1)%3C/script": {"keep_last_n", "&lt;script&gt;"},
	} {
		status, text := r.get(p + query)
		check.Equal(t, query, status, 200)
		check.Lacks(t, query+": text", text, "<script>alert")
		check.Contains(t, "text", text, wants...)
	}
}
