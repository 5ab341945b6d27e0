package main

import (
	"fmt"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/simulate"
)

// recorded is a conversation of two people, one object a line.
func recorded(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":"m%d","time":"2025-03-01T%02d:%02d:00Z","author":%q,"text":"Plot %d needs %d cans of water, and the <b>gate</b> stays shut on day %d because of the goats and the wind."}`+"\n",
			i, i/60%24, i%60, []string{"Ada", "Helper"}[i%2], i%17, i%23, i)
	}
	return b.String()
}

func TestSimulate(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	p := newFolder(t)
	p.write("config.toml", "[[agents]]\nid = \"small\"\ncontext_window = 4000\nmax_output_tokens = 500\n")
	p.write("talk.jsonl", recorded(160))
	p.must("", "import", "--channel", "garden", "talk.jsonl")
	try := func(args string) simulated {
		return parse[simulated](t, p.must("", append([]string{"simulate", "--json"}, strings.Fields(args)...)...))[0]
	}
	t.Run("a channel's compactions are those that happened, and its database stays as it is", func(t *testing.T) {
		before := p.read("data/cairn.db")
		r := try("--channel garden")
		check.Len(t, "variants", r.Variants, 1)
		check.Equal(t, "variant", r.Variants[0].Name, simulate.InForce)
		check.That(t, r.Happened > 0 && r.Equal == r.Happened && len(r.Variants[0].Compactions) == r.Happened, "got %d of %d compactions equal", r.Equal, r.Happened)
		check.Equal(t, "database", p.read("data/cairn.db"), before)
		out := p.must("", "simulate", "--channel", "garden", "--vs", "--set", "economy=true")
		check.Contains(t, "the table", out, "in force  economy=true", "verbatim tokens, mean", "compactions that really happened", "used tokens over messages", "▇")
	})
	t.Run("each --vs begins a variant, and --set is of the last one", func(t *testing.T) {
		r := try("talk.jsonl --vs --set background_threshold=0.5 --vs --set context_window=3000 --set keep_last_n=2 --svg out.svg --html out.html")
		check.Len(t, "variants", r.Variants, 3)
		one, two := r.Variants[1], r.Variants[2]
		check.Equal(t, "settings", fmt.Sprintf("%s,%s,%s,%d", one.Settings["background_threshold"], two.Settings["background_threshold"], two.Settings["keep_last_n"], two.Window), "0.5,,2,3000")
		check.That(t, one.Verbatim.Mean < r.Variants[0].Verbatim.Mean, "a lower level leaves no fewer messages verbatim")
		for _, file := range []string{"out.svg", "out.html"} {
			check.Contains(t, file, p.read(file), "background_threshold=0.5", "<svg")
			check.Lacks(t, file, p.read(file), "<script")
		}
	})
	t.Run("what goes to standard output is in the object of --json", func(t *testing.T) {
		both := try("talk.jsonl --svg - --html -")
		check.HasPrefix(t, "chart", both.SVG, "<svg")
		check.Contains(t, "page", both.HTML, "<svg")
		check.HasPrefix(t, "chart", p.must("", "simulate", "talk.jsonl", "--svg", "-"), "<svg")
	})
	t.Run("the messages of --bot make turns, and questions beside the file are asked", func(t *testing.T) {
		p.write("talk.qa.jsonl", `{"question":"How many cans does plot 3 need?","answer":"3 cans","evidence":["m3"]}`+"\n")
		r := try("talk.jsonl --bot helper --set stack_budget=0.1")
		check.Len(t, "variants", r.Variants, 2)
		turns, f := r.Variants[0].Turns, r.Variants[0].Found
		check.That(t, turns.Requests == 80 && turns.Cached > 0 && turns.Cached < turns.Input, "got turns %+v", turns)
		check.That(t, f != nil && f.Questions == 1 && f.Recall.Evidence >= f.Context.Evidence, "found %+v", f)
	})
}

func TestSimulateRefuses(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	p := newFolder(t)
	p.write("talk.jsonl", recorded(10))
	p.write("empty.jsonl", "\n")
	for args, want := range map[string]struct {
		code int
		text string
	}{
		"talk.jsonl --set background_treshold=0.5": {exitUsage, "did you mean background_threshold?"},
		"talk.jsonl --set economy":                 {exitUsage, "KEY=VALUE"},
		"talk.jsonl --channel x":                   {exitUsage, "either files or --channel"},
		"talk.jsonl --bot Helpr":                   {exitUsage, "no one in the files has that name"},
		"talk.jsonl --html - --svg -":              {exitUsage, "standard output"},
		"none.jsonl":                               {exitNotFound, "none.jsonl"},
		"empty.jsonl":                              {exitFailed, "no message"},
		"--channel x":                              {exitNotFound, "talk to the bot first"},
	} {
		p.fails(want.code, want.text, append([]string{"simulate"}, strings.Fields(args)...)...)
	}
	p.untouched()
}
