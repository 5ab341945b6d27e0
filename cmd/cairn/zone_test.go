package main

import (
	"slices"
	"strings"
	"testing"

	"cairn/internal/check"

	"cairn/llm/llmtest"
)

// Tokyo is nine hours ahead of UTC.
func TestTimesUseConfiguredZone(t *testing.T) {
	t.Parallel()
	server := llmtest.Serve(t, func(x *llmtest.Exchange) { x.Say("Fine.") })
	p := newFolder(t)
	settings := "time_zone = \"Asia/Tokyo\"\n[llm]\nbase_url = \"" + server.URL + "\"\n"
	p.write("config.toml", settings)
	p.must(`{"text":"we meet tomorrow","id":"1","time":"2026-01-31T20:30:00Z"}`+"\n", "chat", "--json")
	asked := slices.DeleteFunc(server.Requests(), isStartCheck)
	check.Len(t, "model requests", asked, 1)
	check.Contains(t, "turn context", asked[0].Last().Text(), " 2026-02-01 05:30 Ada] we meet tomorrow", " JST;")
	check.Contains(t, "output for people", p.must("", "transcript"), "2026-02-01 05:30")
	check.Contains(t, "output for programs", p.must("", "transcript", "--json"), `"2026-01-31T20:30:00Z"`)
	if r := p.run("", "recall", "meet", "--since", "2026-02-01"); r.code != 0 || !strings.Contains(r.out, "meet tomorrow") {
		t.Errorf("since that day: exit code %d, %s%s", r.code, r.out, r.err)
	}
	check.Lacks(t, "since the next day", p.run("", "recall", "meet", "--since", "2026-02-02").out, "meet tomorrow")
}
