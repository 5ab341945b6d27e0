package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/check"

	"cairn/memory"
	"cairn/store"
)

func TestTableFits(t *testing.T) {
	whole := func() table {
		return table{
			{"ID", "SAID", "MEMORY", "CHANNEL"},
			{"7", "2026-05-08", "Ada drinks green tea in the morning", "terminal:garden"},
			{"12", "2026-05-09", "我喜欢猫，也喜欢狗，还喜欢在花园里喝茶", "x"},
		}
	}
	for width, want := range map[int]string{
		0: `
ID        SAID  MEMORY                                  CHANNEL
 7  2026-05-08  Ada drinks green tea in the morning     terminal:garden
12  2026-05-09  我喜欢猫，也喜欢狗，还喜欢在花园里喝茶  x
`,
		50: `
ID        SAID  MEMORY             CHANNEL
 7  2026-05-08  Ada drinks green…  terminal:garden
12  2026-05-09  我喜欢猫，也喜欢…  x
`,
		30: `
ID        SAID  MEMORY  CHANN…
 7  2026-05-08  Ada d…  termi…
12  2026-05-09  我喜…   x
`,
	} {
		rows := whole()
		right := rows[1:].numeric(4)
		rows.fit(width, right)
		check.Equal(t, fmt.Sprintf("in %d characters", width), "\n"+rows.aligned(right), want)
	}
}

func TestMemoriesAsATable(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	p := filled(t)
	p.must("/remember =HYPERLINK(\"http://x\") is a formula\n", "chat")
	t.Run("a program gets it whole and without a head", func(t *testing.T) {
		out := p.must("", "memories", "search", "black", "coffee")
		if !strings.HasPrefix(out, "3  fact  20") || !strings.HasSuffix(out, "  Ada    Ada drinks black coffee  terminal:general\n") {
			t.Errorf("%q", out)
		}
	})
	t.Run("importance and words can be sorted by", func(t *testing.T) {
		first := func(args ...string) int64 {
			return parse[kept](t, p.must("", append([]string{"memories"}, args...)...))[0].ID
		}
		check.Equal(t, "first by id", first("list", "--sort", "id", "--json"), 1)
		check.Equal(t, "oldest", first("list", "--json"), 5)
		check.Equal(t, "first about drinks", first("search", "drinks", "--sort", "id", "--json"), 2)
	})
	t.Run("a spreadsheet gets text where a stranger wrote a formula", func(t *testing.T) {
		records := check.Must(csv.NewReader(strings.NewReader(p.must("", "memories", "list", "--csv", "--sort", "id"))).ReadAll())(t)
		if len(records) != 6 || len(records[0]) != 16 || strings.Join(records[1][:4], " ") != "1 terminal:general fact the standup is at 9:30" || !strings.HasPrefix(records[5][3], "'=HYPER") {
			t.Errorf("%q", records)
		}
	})
	t.Run("stats counts memories", func(t *testing.T) {
		out := p.must("", "memories", "stats")
		check.Contains(t, "counts", out, "5 memories\n\nKIND\nfact  5  100 %\n", "ORIGIN\nperson  5  100 %\n", "CONVERSATION\nterminal:general  4  80 %\nterminal:garden   1  20 %\n", "PERSON\nAda     5  100 %\n")
		var s memory.Statistics
		check.NoError(t, json.Unmarshal([]byte(p.must("", "memories", "stats", "--json", "--channel", "garden")), &s))
		check.Equal(t, "total", s.Total, 1)
		check.Equal(t, "first kind", s.Kind[0], (memory.Count{Name: "fact", Count: 1}))
		check.Len(t, "months", s.Month, 1)
		check.Equal(t, "memories of an unknown person", p.must("", "memories", "stats", "--about", "Zoe"), "no memories found\n")
	})
}

// fillGarden returns a folder with the sample conversation, which has compactions.
func fillGarden(t *testing.T) folder {
	p := newFolder(t)
	p.write("config.toml", "[[agents]]\nid = \"cairn\"\ncontext_window = 3000\nmax_output_tokens = 200\n")
	p.write("talk.jsonl", read(t, checkout+"/bench/testdata/allotment.jsonl"))
	p.must("", "import", "--channel", "garden", "talk.jsonl")
	return p
}

func TestCompactionsCommand(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	p := fillGarden(t)
	all := parse[store.ListedCompaction](t, p.must("", "compactions", "--json"))
	check.Require(t, len(all) >= 5, "got %d compactions", len(all))
	t.Run("each has what a simulation says of one", func(t *testing.T) {
		for line := range strings.Lines(p.must("", "compactions", "--json")) {
			var fields map[string]any
			check.NoError(t, json.Unmarshal([]byte(line), &fields))
			for _, name := range []string{"id", "state", "trigger", "kind", "from_seq", "to_seq", "messages", "before_tokens", "after_tokens", "time"} {
				check.That(t, fields[name] != nil && fields[name] != "" && fields[name] != 0.0, "%s: no %s", line, name)
			}
		}
		if one := all[0]; one.Trigger != "background" || one.Kind != "leaf" || one.From != 1 || one.To-one.From+1 != int64(one.Messages) || one.BeforeTokens < 2400 || one.AfterTokens >= one.BeforeTokens {
			t.Errorf("%+v", one)
		}
	})
	t.Run("they can be chosen", func(t *testing.T) {
		for args, want := range map[string]int{
			"--channel garden": len(all), "--since 1h": len(all), "--since 2199-01-01": 0, "--state failed": 0, "--limit 2": 2,
		} {
			check.Len(t, args, parse[store.ListedCompaction](t, p.must("", append([]string{"compactions", "--json"}, strings.Fields(args)...)...)), want)
		}
		if r := p.run("", "compactions", "--limit", "1"); len(strings.Split(r.out, "\n")) != 2 || !strings.Contains(r.err, "more before them") {
			t.Errorf("%q, %q", r.out, r.err)
		}
	})
	t.Run("mistakes say what there is", func(t *testing.T) {
		for args, want := range map[string]struct {
			code int
			text string
		}{
			"--state lost": {exitUsage, "must be one of running, prepared"}, "--since May": {exitUsage, "invalid time"}, "--limit -1": {exitUsage, "at least 0"},
			"--channel lost": {exitNotFound, "known: terminal:garden"}, "garden": {exitUsage, "accepts 0 arg(s)"},
		} {
			p.fails(want.code, want.text, append([]string{"compactions"}, strings.Fields(args)...)...)
		}
	})
}
