package main

import (
	"fmt"
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

// A summary, the messages below it and search results use the configured zone's days.
func TestSummariesUseConfiguredZone(t *testing.T) {
	t.Parallel()
	server := llmtest.Serve(t, func(x *llmtest.Exchange) { x.Say("Fine.") })
	p := newFolder(t)
	p.write("config.toml", "time_zone = \"Asia/Tokyo\"\n[llm]\nbase_url = \""+server.URL+"\"\n[[agents]]\nid = \"a\"\ncontext_window = 4096\ncompaction.strategy = \"extractive\"\n")
	var said strings.Builder
	for n := range 60 {
		fmt.Fprintf(&said, `{"text":"%d: yesterday we bought %s","id":"%d","time":"2026-01-31T20:30:00Z"}`+"\n", n, strings.Repeat("tea ", 40), n)
	}
	p.must(said.String(), "chat", "--json") // its end waits for summaries
	for id := range 3 {
		p.must(fmt.Sprintf(`{"text":"and now?","id":"later %d"}`+"\n", id), "chat", "--json")
	}
	var prompt string
	for _, r := range server.Requests() {
		for _, m := range r.Messages {
			prompt += m.Text() + "\n"
		}
	}
	check.Contains(t, "first message", prompt, "[#1 2026-02-01 05:30 Ada]")
	check.Contains(t, "summary", prompt, "yesterday (31 January) we bought")
	check.Lacks(t, "days", prompt, "2026-01-31", "(30 January)")
}
