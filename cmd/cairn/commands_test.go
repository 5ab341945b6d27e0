package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func TestUsage(t *testing.T) {
	check.SkipUnderRace(t)
	p := newFolder(t)
	p.bare = true
	p.write("broken.toml", "[llm]\nmodle = 1")
	p.write("large.toml", strings.Repeat("#\n", (1<<20)/2+1))
	check.NoError(t, syscall.Mkfifo(filepath.Join(p.dir, "pipe"), 0o600))
	p.refuses(exitUsage, "", map[string]string{
		"chta":                       `there is no command "chta", did you mean chat?`,
		"memories lost":              `did you mean list?`,
		"help foo":                   `there is no command "foo"`,
		"help memories lits":         `did you mean list?`,
		"chat --chanel x":            "see `cairn chat --help`",
		"import":                     "see `cairn import --help`",
		"chat --channel=":            "the name of the channel is empty",
		"chat --channel discord:1/2": "--channel discord:1/2: only channels of the terminal can be used here; name one without a prefix",
		"chat --log-level loud":      "debug, info, warn or error",
		"version --log-level loud":   "debug, info, warn or error",
		"chat --config none.toml":    "none.toml",
		"chat --config broken.toml":  "broken.toml:2: [llm]: modle: there is no such setting, did you mean model?",
		"chat --config /dev/zero":    "/dev/zero is not a regular file",
		"chat --config pipe":         "pipe is not a regular file",
		"chat --config large.toml":   "large.toml is larger than 1 MB",
		"import --format csv x":      "must be one of jsonl",
	})
	p.refuses(exitNotFound, "", map[string]string{
		"transcript":        "talk to the bot first",
		"import none.jsonl": "open none.jsonl: no such file",
		"backup none/b.db":  "talk to the bot first",
	})
	p.untouched()
	p.prints("", map[string][]string{"--help": {"Exit codes:", "Examples:"}, "version": {"^cairn "}})
	check.Equal(t, "output of --version", p.must("", "--version"), p.must("", "version"))
	check.Equal(t, "output of help", p.must("", "help", "memories", "list"), p.must("", "memories", "list", "--help"))
}

func TestConfigCheck(t *testing.T) {
	p := newFolder(t)
	check.Equal(t, "output without a file", p.must("", "config", "check"), "ok: no settings file; using the defaults\n")
	file := p.write("good.toml", "workers = 2")
	check.Equal(t, "output", p.must("", "config", "check", file), "ok: good.toml\n  workers\n")
	check.Equal(t, "output", p.must("", "config", "check", "--json", "--config", file), `{"ok":true,"file":"good.toml","changed":["workers"],"faults":[]}`+"\n")
	r := p.fails(exitUsage, "", "config", "check", p.write("bad.toml", "\nworkers = 0"), "--json")
	check.Equal(t, "output", r.out, `{"ok":false,"file":"bad.toml","changed":[],"faults":[{"file":"bad.toml","line":2,"table":"","text":"workers = 0: must be from 1 to 64"}]}`+"\n")
	check.Equal(t, "errors", r.err, "cairn: bad.toml:2: workers = 0: must be from 1 to 64\n")
	p.write("config.toml", "[defaults.compaction]\nbackground_threshold = 0.7\n\n[[agents]]\nid = \"small\"\ncontext_window = 8000\nmax_output_tokens = 500\n")
	out := p.must("", "config", "check", "--explain", "--json")
	last := 8000
	check.HasPrefix(t, "agents", out, `[{"agent":"small",`)
	check.Contains(t, "the effect of background_threshold", out, `"moves":"prepare_threshold follows: 0.45 at 0.6`)
	var shown strings.Builder
	for _, s := range regexp.MustCompile(`"key":"(\w+)".*?"tokens":(\d+),.*?"origin":"(.*?)"`).FindAllStringSubmatch(out, -1) {
		fmt.Fprintln(&shown, s[1:])
		tokens := check.Must(strconv.Atoi(s[2]))(t)
		check.That(t, tokens <= last, "got %s, of %d tokens, after one of %d", s[1], tokens, last)
		last = tokens
	}
	check.Contains(t, "the settings", shown.String(), "[context_window 8000 config.toml:6]", "[background_threshold 5600 config.toml:2]",
		"[prepare_threshold 4200 default]", "[emergency_threshold 7600 default]", "[max_output_tokens 500 config.toml:7]",
		"[tail_tokens 2000 default]", "[stack_budget 1200 default]")
	check.Contains(t, "the table", p.must("", "config", "check", "--explain"), "background_threshold affects")
	p.fails(exitUsage, "--channel needs --explain", "config", "check", "--channel", "x")
}

func TestChannels(t *testing.T) {
	p := newFolder(t)
	p.must("", "import", p.write("none.jsonl", ""))
	r := p.run("", "channels")
	check.Equal(t, "channels of an empty folder", r.out+r.err, "no conversations yet\n")
	p.must("", "import", "--channel", "garden", p.write("past.jsonl", `{"id":"1","author":"Ada","time":"2026-05-01T10:00:00Z","text":"The plums are ripe"}
{"id":"2","author":"Bob","time":"2026-05-03T10:00:00Z","text":"I will pick them"}
`))
	p.prints("", map[string][]string{ // of the only conversation
		"recall plums": {"The plums are ripe"}, "transcript": {"The plums are ripe"}, "context": {"2, of which 2 verbatim"},
	})
	p.must("", "import", "--channel", "kitchen", p.write("more.jsonl", `{"id":"1","author":"Ada","time":"2026-06-01T10:00:00Z","text":"Jam"}`+"\n"))
	c := check.Must(p.store().Conversation(t.Context(), "discord:9/20"))(t)
	check.Must(c.Inbox().Deliver(t.Context(), store.Inbound{ID: "1", AuthorID: "1", Author: "Ada", Text: "hello", Label: "#plaza · \x1b[31mCozy Corner"}))(t)
	form := regexp.MustCompile(`terminal:kitchen +1  2026-06-01 .*\nterminal:garden +2  2026-05-03 (.|\n)*discord:9/20 .*  #plaza · \[31mCozy Corner\n`)
	out := p.must("", "channels")
	check.That(t, form.MatchString(out), "got the channels, the newest first:\n%s", out)
	check.Contains(t, "output for a program", p.must("", "channels", "--json"),
		`{"channel":"terminal:kitchen","messages":1,`, `"messages":2,"last":"2026-05-03T10:00:00Z"`, `"channel":"discord:9/20","name":"#plaza · `)
	r = p.run("", "recall", "plums")
	check.Contains(t, "errors without a channel", r.err, "name one with --channel: known: ", "terminal:kitchen", "garden")
	check.Contains(t, "output", p.must("", "recall", "--channel", "garden", "plums"), "The plums are ripe")
}

func TestRecall(t *testing.T) {
	p := newFolder(t)
	p.must("", "import", p.write("past.jsonl", `{"id":"1","author":"Ada","time":"2026-05-01T10:00:00Z","text":"We chose the hotel by the harbour"}
{"id":"2","author":"Bob","time":"2026-05-03T10:00:00Z","text":"The hotel wants the money by Friday"}
{"id":"3","author":"Bob","time":"2026-05-04T10:00:00Z","text":"Rain again"}
{"id":"4","author":"Bob","time":"2026-05-04T11:00:00Z","text":"And wind"}
{"id":"5","author":"Ada","time":"2026-05-09T10:00:00Z","text":"I am out of coffee"}
{"id":"6","author":"Ada","time":"2026-05-10T10:00:00Z","text":"","attachments":[{"kind":"image","name":"a.png","caption":"a lighthouse at dusk"}]}
{"id":"7","author":"Bob","time":"2026-05-11T10:00:00Z","text":"see there","attachments":[{"kind":"file","name":"b.txt","text":"`+strings.Repeat("It rained. ", 100)+`The museum is shut. `+strings.Repeat("It rained. ", 100)+`"}]}
`))
	p.prints("recall", map[string][]string{
		"which hotel by the harbour?":                       {"^Said:\n#1  2026-05-01 10:00  Ada: We chose the hotel by the harbour\n#2 ", "!score"},
		"--explain hotel":                                   {"score ", ": words +"},
		"--json --limit 1 hotel harbour":                    {`^{"score":`, `"parts":[{"name":"words",`, `"message":{"seq":1,`, `!{"seq":2,`},
		"--json --since 2026-05-02 --limit 1 hotel harbour": {`!{"seq":1,`, `{"seq":2,`},
		"hotel --by bob":                                    {"^Said:\n#2 ", "!#1 "},
		"--by Ada --order oldest --limit 1":                 {"^Said:\n#1 ", "!#5 "},
		"--since 2026-05-04 --until 2026-05-09":             {"#5 ", "#4 ", "#3 ", "!#6 ", "!#2 "},
		"hotel --order newest --until 2026-05-02":           {"#1 ", "!#2 "},
		// A caption and what a file holds are shown where they match.
		"lighthouse": {"Ada: [image: a.png, a lighthouse at dusk]\n"},
		"museum":     {"Bob: see there\n       [file: b.txt]\n       … ", "The museum is shut.", "!" + strings.Repeat("It rained. ", 40)},
		"lighthouse --json": {
			`"text":"","attachments":[{"kind":"image","name":"a.png","caption":"a lighthouse at dusk"}]},"match":"[image: a.png, a lighthouse at dusk]"}`,
		},
	})
	check.Equal(t, "results for a word", strings.Count(p.must("", "recall", "hotel"), "\n#"), 2)
	check.Equal(t, "nothing", p.run("", "recall", "xylophone"), result{err: "nothing found\n"})
	check.Equal(t, "errors where the asker is \"my\"", p.fails(0, "", "recall", "my hotel", "--as", "ada").err, "")
	p.fails(exitNotFound, "cairn: channel nowhere: not found: known: terminal:general\n", "recall", "hotel", "--channel", "nowhere")
	p.refuses(exitUsage, "recall", map[string]string{
		"x --kind gossip": `"gossip" for "--kind" flag: must be one of identity, goal`,
		"":                "an argument is missing: a question, or --by, --since, --until or --order", "x --order size": "must be one of best, newest, oldest", "x --until soon": `--until: invalid time "soon"`,
	})
	check.Contains(t, "an unknown name", p.fails(exitFailed, "", "recall", "hotel", "--by", "Eve").err, `nobody here is called "Eve": use one of these names: Ada, Bob`)

	p.must("/remember the hotel has no lift\n", "chat", "--channel", "stay")
	p.must("The hotel is dear.\n", "chat", "--channel", "stay")
	p.prints("recall", map[string][]string{
		"hotel --channel stay": {"^Remembered:\n(1) fact: the hotel has no lift (", "\n\nSaid:\n"},
		"harbour":              {"#1 "}, // of the usual one of two channels
		"hotel --kind fact --json --channel stay": {`"kind":"fact","content":"the hotel has no lift"`, `!"message":`},
	})
}

// counting is a script whose server counts tokens of each prompt, some of them cached and 100 written to
// the cache, and 10 of the answer.
func counting(prompt, cached int) func(x *llmtest.Exchange) {
	return func(x *llmtest.Exchange) {
		x.Piece("Fine.")
		x.Chunk(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
		x.Chunk(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":%d,"cache_write_tokens":100}}}`, prompt, cached)
		x.Done()
	}
}

func TestUsageCommand(t *testing.T) {
	server := llmtest.Serve(t, counting(1000, 400))
	p := newFolder(t)
	p.fails(exitNotFound, "", "usage")
	p.write("config.toml", fmt.Sprintf("[llm]\nbase_url = %q\nmodel = \"test/gpt-5-mini\"\n[[agents]]\nid = \"cairn\"\n[[agents]]\nid = \"critic\"\nmodel = \"qwen3:8b\"\n", server.URL))
	p.must("", "import", p.write("one.jsonl", `{"id":"1","author":"Ada","time":"2026-05-01T10:00:00Z","text":"hello"}`))
	p.prints("usage", map[string][]string{ // before anything was used
		"--since 2026-05-01": {"^No model has been used since 2026-05-01.\n"}, "": {"^No model has been used yet.\n"},
		"--json": {`{"since":"","by":"day","rows":[],"total":{"requests":0,`, `"summaries":{"requests":0,`, `"no_price":[]}`},
	})
	p.must("hello\n", "chat")
	p.must("hello\n@critic is that so?\n", "chat", "--channel", "garden")
	const unpriced = `"no_price":["qwen3:8b"]`
	p.prints("usage --since 7d --json --by", map[string][]string{
		"day":          {unpriced, `"requests":3,"input_tokens":3000,"cached_tokens":1200,"written_tokens":300,"output_tokens":30,"cost":0.00036`},
		"conversation": {unpriced, `"conversation":"terminal:garden","requests":2,"input_tokens":2000,"cached_tokens":800,"written_tokens":200,"output_tokens":20,"cost":0.00018`},
		"model":        {unpriced, `"model":"qwen3:8b","requests":1,"input_tokens":1000,"cached_tokens":400,"written_tokens":100,"output_tokens":10,"cost":0,`},
	})
	check.Equal(t, "output", p.must("", "usage", "--by", "model"), `MODEL            REQUESTS  INPUT  CACHED  WRITTEN  OUTPUT     COST  SUMMARIES
test/gpt-5-mini         2   2000     800      200      20  $0.0004    $0.0000
qwen3:8b                1   1000     400      100      10  $0.0000    $0.0000
total                   3   3000    1200      300      30  $0.0004    $0.0000
no price for qwen3:8b: it counts as 0; set [prices."qwen3:8b"] in the settings, to 0 if it costs nothing
`)
	p.write("priced.toml", fmt.Sprintf("budget_per_day = 1\n[llm]\nbase_url = %q\nmodel = \"gpt-5-mini\"\n[prices.\"qwen3:8b\"]\ninput = 1000\noutput = 0\n", server.URL))
	check.Contains(t, "context", p.must("", "--config", "priced.toml", "context", "--channel", "garden"),
		"today     2 requests, 2000 tokens in (800 cached, 200 written), 20 out: $1.00\n", "budget    $1.00 of $1.00 today, in all conversations\n")
	check.Contains(t, "context as JSON", p.must("", "context", "--channel", "garden", "--json"), `"usage":{"today":{"requests":2,`, `"no_price":["qwen3:8b"]`)
	check.Contains(t, "answer", p.run("hello\n", "--config", "priced.toml", "chat", "--channel", "garden").err, "The budget for today is used up")
	p.refuses(exitUsage, "usage", map[string]string{"--by week": `"week" for "--by" flag: must be one of day, conversation, model`, "--since May": "invalid time"})
}

// The commands that show settings name the file of each.
func TestCommandsReadTheLocalFile(t *testing.T) {
	p := newFolder(t).with("workers = 2\n[defaults.compaction]\ntail_tokens = 9000\n")
	p.write("config.local.toml", "[llm]\nmodel = \"m\"\n[defaults.compaction]\npin_budget = 900\n")
	check.Equal(t, "config check", p.must("", "config", "check"),
		"ok: config.toml, config.local.toml\n  agents.cairn.compaction.pin_budget\n  agents.cairn.compaction.tail_tokens\n  defaults.compaction.pin_budget\n  defaults.compaction.tail_tokens\n  llm.model\n  workers\n")
	check.Contains(t, "config check --explain", p.must("", "config", "check", "--explain"), "config.local.toml:4", "config.toml:3")
	p.doctorSays(exitFailed, "ok     settings  config.toml, config.local.toml")
	check.NoError(t, os.Chmod(filepath.Join(p.dir, "config.local.toml"), 0o602))
	p.doctorSays(exitFailed, "ok     settings  warning: config.local.toml: every user of this machine may write this file")
	p.write("config.local.toml", "[llm]\nmodell = \"m\"\n")
	p.doctorSays(exitFailed, "WRONG  settings  config.local.toml:2: [llm]: modell: there is no such setting")
	check.NoError(t, os.Remove(filepath.Join(p.dir, "config.toml")))
	p.fails(exitUsage, "config.local.toml:2: [llm]: modell", "chat")
}
