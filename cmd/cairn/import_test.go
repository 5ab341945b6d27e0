package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/chat"
	"cairn/llm"
	"cairn/simulate"
	"cairn/testkit/check"
	"cairn/testkit/wordstest"
	"cairn/web"
)

func messagesOf(t *testing.T, out string) []chat.Record {
	t.Helper()
	return slices.DeleteFunc(parse[chat.Record](t, out), func(r chat.Record) bool { return r.Seq == 0 })
}

func recorded(n int) string {
	var b strings.Builder
	for i := range n {
		name := []string{"Ada", "Helper"}[i%2]
		food := []string{"tea", "bread", "rice"}[i%3]
		fmt.Fprintf(&b, `{"id":"p%d","time":"2025-03-%02dT10:%02d:00Z","author":%q,"text":"I decided to buy %s for day %d, because the <b>party</b> needs it and nobody else wanted to go."}`+"\n",
			i, 1+i/60, i%60, name, food, i)
	}
	return b.String()
}

func TestImport(t *testing.T) {
	check.SkipUnderRace(t)
	p := newFolder(t).with("[[agents]]\nid = \"small\"\ncontext_window = 4000\nmax_output_tokens = 300")
	p.write("a.jsonl", recorded(200))
	p.write("b.jsonl", strings.NewReplacer(`"id":"p`, `"id":"q`, "2025-03", "2025-04").Replace(recorded(3)))
	check.HasPrefix(t, "output", p.must("", "import", "--channel", "past", "a.jsonl", "b.jsonl"), "imported 203 messages into past; 0 were already known\n")
	out := p.must("", "transcript", "--channel", "past", "--json")
	rows := messagesOf(t, out)
	check.Len(t, "messages", rows, 203)
	check.Equal(t, "first and last", rows[0].ID+" "+rows[0].Author+rows[0].Time.Format(" 2006 ")+rows[202].ID, "p0 Ada 2025 q2")
	usage := p.must("", "context", "--channel", "past", "--json")
	check.Contains(t, "a window that is not overfull", usage, `"max_tokens":4000,`, `"messages":203,`, `"from_seq":1,`)
	share := check.Must(strconv.ParseFloat(first(t, `"used_pct":([0-9.]+)`, usage), 64))(t)
	check.That(t, share <= 95, "the window is full to %v %%", share)
	check.Contains(t, "output", p.must("", "context", "--channel", "past"), "of 4000 tokens")

	// The transcript tells where messages were summarized.
	said := int64(0)
	lines := 0
	records := parse[chat.Record](t, out)
	for i, line := range parse[appliedLine](t, out) {
		if records[i].Seq > 0 {
			said = records[i].Seq
			continue
		}
		lines++
		last := line.Compacted[len(line.Compacted)-1]
		// It waits for the summaries, so no message came between.
		check.That(t, last.To <= said && last.Messages > 0 && last.ID > 0 && line.Before > line.After && line.After > 0 && line.Time.Year() >= 2026, "after message %d: got %+v", said, line)
	}
	check.That(t, lines >= 3 && said == 203, "got %d applied compactions and %d messages", lines, said)
	text := p.must("", "transcript", "--channel", "past")
	check.Equal(t, "lines of applied compactions", strings.Count(text, "  compacted "), lines)
	first(t, `^--  \S+ \S+  compacted (\d+)→\d+ tokens: #1 to #\d+, \d+ messages \(leaf \d+ by extractive, `, text)

	check.Equal(t, "a second import", p.must("", "import", "--channel", "past", "a.jsonl"), "imported 0 messages into past; 200 were already known\n")
	p.must("hello\n", "chat") // a channel people talk in is refused with a hint
	p.fails(exitInUse, "name another with --channel: the conversation is in use\n", "import", "b.jsonl")
	check.Equal(t, "messages", p.count("SELECT count(*) FROM messages WHERE platform_id LIKE 'q_'"), 3)
	found := p.memories("search bread --limit 5")
	check.Require(t, len(found) > 0 && strings.Contains(found[0].Content, "bread") && found[0].Channel == "terminal:past", "got %+v", found)
	shown := p.memories(fmt.Sprint("show ", found[0].ID))[0]
	check.That(t, len(shown.Messages) > 0 && strings.Contains(shown.Messages[0].Text, "bread"), "got %+v", shown)
}

func TestImportMistakes(t *testing.T) {
	check.SkipUnderRace(t)
	good := `{"id":"1","time":"2025-03-01T10:00:00Z","author":"Ada","text":"hello"}` + "\n"
	p := newFolder(t)
	for _, test := range []struct{ text, want string }{
		{good + "hello", "past.jsonl:2: this is not a JSON object: write one on each line, as {\"key\":\"value\"}\n"},
		{good + strings.NewReplacer(`"1"`, `"2"`, "10:", "09:").Replace(good), `past.jsonl:2: "time" is before that of past.jsonl:1: sort the messages, oldest first`},
		{strings.Replace(good, "2025", "2125", 1), `past.jsonl:1: "time" is in the future, in 2125: correct it`},
		{"[]", "past.jsonl:1: a line must be one JSON object"},
		{`{"time":"2025-03-01T10:00:00Z","author":"Ada","text":"hello"}`, `past.jsonl:1: "id" is missing`},
		{`{"id":"1","time":"2025-03-01T10:00:00Z","text":"hello"}`, `past.jsonl:1: "author" is missing`},
		{`{"id":"1","author":"Ada","text":"hello"}`, `past.jsonl:1: "time" is missing`},
		{`{"id":"1","time":"May","author":"Ada","text":"hello"}`, "past.jsonl:1: a time must look like \"2023-05-08T13:56:00Z\"\n"},
		{`{"id":"1","time":"2025-03-01T10:00:00Z","author":"Ada"}`, `past.jsonl:1: "text" is missing, and there are no attachments`},
		{strings.Replace(good, `"1"`, `"cairn:task-1"`, 1), `past.jsonl:1: "id" begins with "cairn:"`},
		{`{"id":1}`, `past.jsonl:1: "id" must not be a JSON number`},
		{good + "\n" + strings.Replace(good, "hello", "bye", 1), `past.jsonl:3: the id "1" names another message in past.jsonl:1`},
		{`{"id":"` + strings.Repeat("x", maxRecord), `past.jsonl:1: `},
	} {
		p.fails(exitFailed, test.want, "import", p.write("past.jsonl", test.text))
	}
	for _, name := range []string{"discord:1/2", "web:general", "task:terminal:general/1"} {
		p.fails(exitUsage, "channels of the terminal", "import", "--channel", name, p.write("a.jsonl", good))
	}
	p.untouched()
	again := strings.Replace(good, "10:00:00Z", "12:00:00+02:00", 1) // the same moment; a byte order mark is no mistake
	p.write("a.jsonl", "\ufeff"+good+good)
	out := p.must("\ufeff"+again, "import", "a.jsonl", "-")
	check.Equal(t, "output", out, "imported 1 message into general; 2 were already known\n")
	for _, other := range []string{strings.Replace(good, "hello", "bye", 1), strings.Replace(good, "Ada", "Bo", 1), strings.Replace(good, "10:00", "11:00", 1)} {
		fresh := strings.Replace(good, `"1"`, `"2"`, 1)
		p.fails(exitFailed, `cairn: an id names one message of a channel: "1" already exists, by Ada, of 2025-03-01 10:00:00; nothing was imported`, "import", p.write("b.jsonl", fresh+other))
	}
	check.Equal(t, "messages", p.count("SELECT count(*) FROM messages"), 1)
	check.HasPrefix(t, "output", p.must("", "import", "--channel", "other", p.write("b.jsonl", strings.Replace(good, "hello", "bye", 1))), "imported 1 message")
}

func FuzzRecord(f *testing.F) {
	for _, line := range []string{
		`{"id":"D1:1","time":"2023-05-08T13:56:00Z","author":"Ada","text":"Look!","attachments":[{"kind":"image","caption":"a dog"}]}`,
		"", "null", "[]", `{"id":1}`, `{"id":"a","time":"never"}`, `{"id":"a","author":"b","text":"c"}`, `{"id":"\ud800","time":"0001-01-01T00:00:00Z","author":" ","text":""}`, strings.Repeat("[", 9999),
	} {
		f.Add([]byte(line))
	}
	for _, text := range wordstest.Texts() {
		f.Add([]byte(`{"id":"` + text + `","time":"2023-05-08T13:56:00Z","author":"` + text + `","text":"` + text + `"}`))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var m web.Recorded
		err := parseLine(line, &m)
		if err == nil {
			err = m.Check()
		}
		said := strings.TrimSpace(m.Text) != "" || len(m.Attachments) > 0
		whole := m.ID != "" && strings.TrimSpace(m.Author) != "" && !m.Time.IsZero() && said && utf8.ValidString(m.Text+m.Author+m.ID)
		check.Require(t, whole || err != nil && err.Error() != "", "%q: got %+v, %v", line, m, err)
	})
}

// TestImportOfHostileText: a recorded conversation of hostile texts, one of them 100 kB in one line,
// is imported whole and exported unchanged.
func TestImportOfHostileText(t *testing.T) {
	check.SkipUnderRace(t)
	p := newFolder(t)
	corpus := append(wordstest.Tricks(), wordstest.Forgeries()...)
	corpus = append(corpus, wordstest.Trick{Name: "long", Text: strings.Repeat("many words, ", 9000)})
	var lines []string
	for i, trick := range corpus {
		author, _ := json.Marshal("x" + trick.Text)
		text, _ := json.Marshal(trick.Name + " " + trick.Text)
		lines = append(lines, fmt.Sprintf(`{"id":"m%d","time":"2023-05-08T13:56:00Z","author":%s,"text":%s,"attachments":[{"kind":"file","name":%s,"text":%[2]s}]}`, i, author, text, author))
	}
	out := p.must("", "import", "--channel", "hard", p.write("talk.jsonl", strings.Join(lines, "\n")))
	check.HasPrefix(t, "output", out, fmt.Sprintf("imported %d messages into hard; 0 were already known", len(corpus)))
	rows := slices.DeleteFunc(messagesOf(t, p.must("", "transcript", "--channel", "hard", "--json")), func(r chat.Record) bool { return r.Role != llm.RoleUser })
	check.Len(t, "messages", rows, len(corpus))
	valid := func(text string) string {
		return strings.NewReplacer("\ufffd", "", "\x00", "").Replace(strings.ToValidUTF8(text, ""))
	} // JSON counts bad bytes one by one
	for i, r := range rows {
		check.That(t, valid(r.Text) == valid(corpus[i].Name+" "+corpus[i].Text), "%s: got %.200q", corpus[i].Name, r.Text)
	}
	p.must("", "memories", "export", "all.jsonl")
	p.must("", "memories", "export", "--format", "markdown", "all.md")
	p.must("", "memories", "import", "all.jsonl")
	p.hasSoundData()
}

func TestSimulate(t *testing.T) {
	check.SkipUnderRace(t)
	p := newFolder(t).with("[[agents]]\nid = \"small\"\ncontext_window = 5000\nmax_output_tokens = 500\n")
	p.write("talk.jsonl", recorded(160))
	p.write("empty.jsonl", "\n")
	p.refuses(exitUsage, "simulate", map[string]string{
		"talk.jsonl --set background_treshold=0.5": "did you mean background_threshold?", "talk.jsonl --set economy": "KEY=VALUE",
		"talk.jsonl --channel x": "either files or --channel", "talk.jsonl --bot Helpr": "no one in the files has that name",
		"talk.jsonl --html - --svg -": "standard output",
	})
	p.refuses(exitNotFound, "simulate", map[string]string{"none.jsonl": "none.jsonl", "--channel x": "talk to the bot first"})
	p.fails(exitFailed, "no message", "simulate", "empty.jsonl")
	p.untouched()
	p.must("", "import", "--channel", "garden", "talk.jsonl")
	try := func(args string) simulated {
		return parse[simulated](t, p.must("", append([]string{"simulate", "--json"}, strings.Fields(args)...)...))[0]
	}
	t.Run("a channel's compactions are those that happened, and its database stays as it is", func(t *testing.T) {
		before := p.read("data/cairn.db")
		r := try("--channel garden")
		check.Len(t, "variants", r.Variants, 1)
		check.Equal(t, "variant", r.Variants[0].Name, simulate.Current)
		check.That(t, r.Happened > 0 && r.Equal == r.Happened && len(r.Variants[0].Compactions) == r.Happened, "got %d of %d compactions equal", r.Equal, r.Happened)
		check.Equal(t, "database", p.read("data/cairn.db"), before)
		out := p.must("", "simulate", "--channel", "garden", "--vs", "--set", "economy=true")
		check.Contains(t, "the table", out, "current  economy=true", "\n  rollups ", "verbatim tokens, mean", "compactions that really happened", "used tokens over messages", "▇")
	})
	t.Run("each --vs begins a variant, and --set is of the last one", func(t *testing.T) {
		r := try("talk.jsonl --vs --set background_threshold=0.5 --vs --set context_window=3000 --set keep_last_n=2 --svg out.svg --html out.html")
		check.Len(t, "variants", r.Variants, 3)
		one := r.Variants[1]
		two := r.Variants[2]
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
		p.write("talk.qa.jsonl", `{"question":"What was bought for day 3?","answer":"tea","evidence":["p3"]}`+"\n")
		r := try("talk.jsonl --bot helper --set stack_budget=0.1")
		check.Len(t, "variants", r.Variants, 2)
		turns := r.Variants[0].Turns
		f := r.Variants[0].Found
		check.That(t, turns.Requests == 80 && turns.Cached > 0 && turns.Cached < turns.Input, "got turns %+v", turns)
		check.That(t, f != nil && f.Questions == 1 && f.Recall.Evidence >= f.Context.Evidence, "found %+v", f)
	})
}
