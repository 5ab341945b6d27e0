package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"charm.land/lipgloss/v2"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/wordstest"
)

func TestTableFits(t *testing.T) {
	for width, want := range map[int]string{
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
		rows := table{
			{"ID", "SAID", "MEMORY", "CHANNEL"},
			{"7", "2026-05-08", "Ada drinks green tea in the morning", "terminal:garden"},
			{"12", "2026-05-09", "我喜欢猫，也喜欢狗，还喜欢在花园里喝茶", "x"},
		}
		align := rows.alignment()
		rows.fit(width, align)
		check.Equal(t, fmt.Sprintf("in %d characters", width), "\n"+rows.aligned(align), want)
	}
}

func TestShortWorkTakesMoreThanNoTime(t *testing.T) {
	for n, want := range map[float64]string{12.34: "12.3", 0.06: "0.1", 0.0123: "0.01", 0.0001: "0.01"} {
		check.Equal(t, "seconds", secondsOf(n), want)
	}
}

func TestCompactionsCommand(t *testing.T) {
	check.SkipUnderRace(t)
	p := fillGarden(t)
	text := p.must("", "compactions", "--json")
	all := parse[store.ListedCompaction](t, text)
	check.Require(t, len(all) >= 5, "got %d compactions", len(all))
	for i, fields := range parse[map[string]any](t, text) { // each has what a simulation says of one
		for _, name := range []string{"id", "state", "trigger", "kind", "from_seq", "to_seq", "messages", "before_tokens", "after_tokens", "time"} {
			check.That(t, fields[name] != nil && fields[name] != "" && fields[name] != 0.0, "%+v: no %s", all[i], name)
		}
	}
	one := all[0]
	check.Equal(t, "the oldest", one.Trigger+" "+one.Kind, "background leaf")
	check.That(t, one.From == 1 && one.To == int64(one.Messages) && one.BeforeTokens >= 2400 && one.AfterTokens < one.BeforeTokens, "%+v", one)
	for args, want := range map[string]int{
		"--channel garden": len(all), "--since 1h": len(all), "--since 2199-01-01": 0, "--state failed": 0, "--limit 2": 2,
	} {
		check.Len(t, args, parse[store.ListedCompaction](t, p.must("", append([]string{"compactions", "--json"}, strings.Fields(args)...)...)), want)
	}
	last := all[len(all)-1]
	check.Equal(t, "the newest", last.Kind, "rollup")
	r := p.run("", "compactions", "--limit", "1")
	check.Contains(t, "a rollup's own tokens", r.out, fmt.Sprintf("  %d  %d  ", last.FoldedTokens, last.SummaryTokens))
	check.Equal(t, "lines", strings.Count(r.out, "\n"), 1)
	check.Contains(t, "errors", r.err, "more before them")
	p.refuses(exitUsage, "compactions", map[string]string{
		"--state lost": "must be one of running, prepared", "--since May": "invalid time", "--limit -1": "at least 0", "garden": `unexpected argument "garden"`,
	})
	p.fails(exitNotFound, "known: terminal:garden", "compactions", "--channel", "lost")
	t.Run("tables fit the terminal", func(t *testing.T) {
		for _, c := range []struct {
			width         uint16
			command, head string
			cut           bool
		}{
			{80, "compactions", "ID TIME TRIG", true}, {100, "memories list", "ID KIND SAID BY", true}, {200, "compactions", "ID TIME TRIGG", false},
		} {
			p.width = c.width
			text := p.atScreen(append(strings.Fields(c.command), "--limit", "5")...).end(0)
			lines := strings.Split(text, "\n")
			shown := fmt.Sprintf("%s in %d characters", c.command, c.width)
			lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" || strings.Contains(line, " more") })
			check.Len(t, shown, lines, 6)
			check.HasPrefix(t, shown, strings.Join(strings.Fields(lines[0]), " "), c.head)
			for _, line := range lines {
				check.That(t, lipgloss.Width(line) <= int(c.width), "%s: %q", shown, line)
			}
			check.Equal(t, shown+" is cut", strings.Contains(text, "…"), c.cut)
		}
	})
}

func TestLongWorkShowsItsProgress(t *testing.T) {
	p := newFolder(t)
	p.write("talk.jsonl", recorded(60))
	check.Contains(t, "simulate", p.atScreen("simulate", "talk.jsonl").end(0), "\r100 %  60 of 60\r\x1b[K")
	check.Contains(t, "import", p.atScreen("import", "talk.jsonl").end(0), "\r\x1b[K60 of 60 messages stored\r", "\r\x1b[K0 of 60 messages summarized\r")
}

// The person reads a sentence about a failure; the log is for --log-level.
func TestFailureAtATerminal(t *testing.T) {
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		if strings.Contains(x.Request.Last().Text(), "empty") {
			x.Say("")
			return
		}
		x.Refuse(402, "", "no")
	})
	for level, logs := range map[string]bool{"": false, "--log-level=warn": true} {
		p := newFolder(t, "TERM=dumb")
		writeServerSettings(p, server)
		s := p.atScreen(strings.Fields("chat " + level)...)
		s.answer("\n> ", "hello")
		s.until("has no credit left")
		s.answer("\n> ", "empty")
		s.answer("\n> ", "/quit")
		text := s.end(0)
		check.Equal(t, level+" shows the log", strings.Contains(text, "turn_failed"), logs)
		check.That(t, logs || !strings.Contains(text, "WRN"), "got %s", text)
	}
}

// Ctrl-C stops an answer, and leaves when nothing is being answered.
func TestCtrlCOfPlainLines(t *testing.T) {
	asked := make(chan struct{}, 2)
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		if !strings.Contains(x.Request.Last().Text(), "hello") {
			asked <- struct{}{}
			x.Wait(time.Minute)
			return
		}
		x.Say("I am here.")
	})
	p := newFolder(t)
	writeServerSettings(p, server)
	s := p.atScreen("chat", "--plain")
	s.answer("\n> ", "think")
	<-asked
	check.NoError(t, s.cmd.Process.Signal(syscall.SIGINT))
	s.answer("\n> ", "hello")
	s.until("I am here.")
	s.until("> ")
	check.NoError(t, s.cmd.Process.Signal(syscall.SIGINT))
	s.end(exitSignal + int(syscall.SIGINT))

	s = p.atScreen("ask", "--channel", "other", "think")
	<-asked
	check.NoError(t, s.cmd.Process.Signal(syscall.SIGINT))
	s.end(exitFailed)
	check.Equal(t, "what the next start resumes", p.must("", "chat", "--channel", "other"), "")
}

// TestOutputIsEscaped: JSON does not escape C1 control characters; an entry of a list is one line.
func TestOutputIsEscaped(t *testing.T) {
	for _, trick := range append(wordstest.Tricks(), wordstest.Forgeries()...) {
		raw := check.Must(json.Marshal(map[string]string{"text": trick.Text}))(t)
		text := escapedControls(string(raw))
		var was, is map[string]string
		check.NoError(t, errors.Join(json.Unmarshal(raw, &was), json.Unmarshal([]byte(text), &is)))
		check.Equal(t, trick.Name, is["text"], was["text"])
		check.That(t, !strings.ContainsFunc(text, func(r rune) bool {
			return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
		}), "%s: %q", trick.Name, text)
		text = "x\n#7  2026-01-01 00:00  Boss: yes " + trick.Text
		m := chat.Message{Seq: 3, Role: llm.RoleUser, Author: text, Text: text, Time: time.Unix(0, 0)}
		shown := chat.RecordOf(m).String() + "\n" + memory.Memory{Memory: store.Memory{ID: 4, Kind: "fact", Content: text, Speaker: text}}.String()
		for i, line := range strings.FieldsFunc(shown, func(r rune) bool { return strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r) }) {
			check.That(t, i == 0 || strings.HasPrefix(line, "       ") || strings.HasPrefix(line, "(4) fact: "), "%s: got line %q", trick.Name, line)
		}
	}
}

// TestOutputOfHostileText: a pager may pass control characters to the terminal, too.
func TestOutputOfHostileText(t *testing.T) {
	p := newFolder(t)
	const said = "red \x1b[31malert\u202e \u009b2J\tend\nnext"
	db := p.store()
	conversation := check.Must(db.Conversation(t.Context(), "terminal:general"))(t)
	check.Must(conversation.Past().Import(t.Context(), []store.Inbound{{ID: "1", AuthorID: "Bo", Author: "Bo", Text: said}}))(t)
	check.Must(memory.Of(conversation).Keep(t.Context(), memory.KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: "Bo \u202esaid\u202c \u009bit"}, Person: "Bo"}))(t)
	check.Must(conversation.Inbox().Deliver(t.Context(), store.Inbound{ID: "2", Author: "Bo", Text: "So?", Addressed: true}))(t)
	check.Must(conversation.Inbox().Dequeue(t.Context(), store.All, 1000, time.Time{}))(t)
	check.Must(conversation.Turns().Finish(t.Context(), store.Outcome{Turn: 2, Messages: []chat.Message{
		{Seq: 3, Turn: 2, Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "c", Name: "recall", Arguments: "{}"}}},
		{Seq: 4, Turn: 2, Role: llm.RoleTool, CallID: "c", Tool: "recall", Text: "nothing"},
		{Seq: 5, Turn: 2, Role: llm.RoleAssistant},
	}}))(t)
	check.NoError(t, db.Close())
	for _, command := range []string{"transcript", "transcript --json", "recall next", "recall next --json", "memories list", "memories show 1", "context"} {
		out := p.must("", strings.Fields(command)...)
		check.That(t, out != "" && !strings.ContainsAny(out, "\x1b\u202e\u202c\u009b\a"), "%s: %q", command, out)
	}
	out := p.must("", "transcript")
	check.Contains(t, "output", out, "Bo: red [31malert 2J\tend\n       next\n", "assistant: → recall {}\n")
	check.Lacks(t, "a row that says nothing", out, "#5")
	rows := parse[chat.Record](t, p.must("", "transcript", "--json"))
	check.Len(t, "rows", rows, 5)
	check.Equal(t, "first row, as it is", rows[0].Text, said)
}

func TestOutputOfRows(t *testing.T) {
	call := llm.Call{Name: "memory_search", Arguments: "{\"query\":\n  \"" + strings.Repeat("tea ", 100) + "\"}"}
	for want, row := range map[string]chat.Message{
		"Ada: hi":       {Role: llm.RoleUser, Author: "Ada", Text: "hi"},
		"assistant: hi": {Role: llm.RoleAssistant, Text: "hi"},
		"":              {Role: llm.RoleAssistant, Text: " "},
		`assistant: → memory_search {"query": "tea tea `: {Role: llm.RoleAssistant, Calls: []llm.Call{call}},
		"assistant: I look.\n       → memory_search":     {Role: llm.RoleAssistant, Text: "I look.", Calls: []llm.Call{call}},
	} {
		r := chat.RecordOf(row)
		check.Contains(t, "row", r.String(), want)
		check.Equal(t, "whether the row says nothing: "+want, r.Empty(), want == "")
		check.That(t, len([]rune(r.String())) <= 160, "got %q", r)
	}
}
