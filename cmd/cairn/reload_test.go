package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cairn/channel/access"
	"cairn/compactor"
	"cairn/config"
	"cairn/connector/terminal"
	"cairn/internal/hooks"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// runningBot is a bot in this process that follows its settings file, with a terminal connector
// without a person.
type runningBot struct {
	*bot
	t    *testing.T
	file string
	log  *check.Buffer
}

func startBot(t *testing.T, text string) *runningBot {
	t.Helper()
	p := newFolder(t)
	s := &runningBot{t: t, file: filepath.Join(p.dir, p.write("config.toml", text)), log: &check.Buffer{}}
	a := &app{
		console: console{in: strings.NewReader(""), out: io.Discard, err: io.Discard},
		flags:   flags{config: s.file, data: filepath.Join(p.dir, "data")},
	}
	check.NoError(t, a.load())
	connector := check.Must(terminal.New(nobody()))(t)
	var err error
	_, s.bot, err = a.start(t.Context(), slog.New(slog.NewTextHandler(s.log, nil)), (*config.Settings).Rules, connector)
	check.NoError(t, err)
	t.Cleanup(func() { check.NoError(t, s.close()) })
	s.watchSettings(false)
	return s
}

func (s *runningBot) edit(text string) {
	s.t.Helper()
	check.NoError(s.t, os.WriteFile(s.file+"~", []byte(text), 0o600))
	check.NoError(s.t, os.Rename(s.file+"~", s.file))
}

func (s *runningBot) awaitLog(what string, n int) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("the log has %q %d times", what, n), s.log.String, func() bool { return strings.Count(s.log.String(), what) >= n })
}

func (s *runningBot) policy() compactor.Policy { return s.current.Load().agents["cairn"].Policy() }

const settingsApplied = "settings_applied"

func TestEditsApply(t *testing.T) {
	s := startBot(t, "[defaults.compaction]\nkeep_last_n = 5\n")
	s.edit("[defaults.compaction]\nkeep_last_n = 6\nkeep_first = 0\n[discord]\ndeny = [\"7\"]\n")
	s.awaitLog(settingsApplied, 1)
	check.Equal(t, "keep_last_n", s.policy().KeepLastN, 6)
	check.Equal(t, "keep_first", s.policy().KeepFirst, 0)
	check.Contains(t, "log", s.log.String(), "defaults.compaction.keep_last_n", "discord.deny")
	origin := s.current.Load().agents["cairn"].Origin
	check.Equal(t, "origins", origin("keep_first")+origin("pin_budget"), "[defaults.compaction]")
	// What needs a restart is named, and the rest counts.
	s.edit("workers = 2\nhealth = \"127.0.0.1:1\"\n[defaults.compaction]\nkeep_last_n = 11\n")
	s.awaitLog("settings_need_restart", 1)
	check.Contains(t, "the log", s.log.String(), `settings="[workers health]"`)
	check.Equal(t, "keep_last_n", s.policy().KeepLastN, 11)
	s.edit("[hooks]\nbefore_compaction = [\"sh\", \"-c\", \"exit 10\"]\n[[tools]]\nid = \"calc\"\ncommand = \"no-such-program\"\nallow = [\"add\"]\n[prices.m]\ninput = 3\noutput = 1\n")
	eventually(t, "hooks and tools apply", s.log.String, func() bool {
		return s.hooks.Ask(t.Context(), hooks.Before, struct{ A int }{}).Veto && len(s.tools.Status()) == 1
	})
	price, _ := s.settings().Money().Prices.Of("m")
	check.Equal(t, "price", price.Input, 3)
}

func TestWrongEditsChangeNothing(t *testing.T) {
	const good = "[defaults.compaction]\nkeep_last_n = 5\n"
	s := startBot(t, good)
	standing := s.current.Load()
	bad := "[defaults.compaction]\nkeep_last_n = 7\nkeep_first = 99\nbackground_threshold = 80\n"
	s.edit(bad)
	s.awaitLog("settings_have_mistakes", 1)
	check.Contains(t, "the log", s.log.String(), s.file+":3: [defaults.compaction]: keep_first = 99: must be from 0 to 20", "write 0.80 for 80 %")
	s.edit(bad + "max_turns = 0\n")
	s.awaitLog("settings_have_mistakes", 2)
	check.Equal(t, "settings", s.current.Load(), standing)
	s.edit(good)
	s.awaitLog(settingsApplied, 1) // a reverted mistake is confirmed
	check.NoError(t, os.Remove(s.file))
	s.awaitLog("read_settings_failed", 1)
	check.Equal(t, "settings of a file that is gone", s.policy().KeepLastN, 5)
	s.edit("[defaults.compaction]\nkeep_last_n = 8\n")
	s.awaitLog(settingsApplied, 2)
	check.NoError(t, os.WriteFile(s.file, nil, 0o600)) // which would let anybody in
	s.awaitLog("it is empty", 1)
	check.Equal(t, "settings of an emptied file", s.policy().KeepLastN, 8)
}

// Managers of configuration link to a file, which they create later and replace by another. SIGHUP
// reloads the file.
func TestEditOfALinkedFileApplies(t *testing.T) {
	p := newFolder(t)
	l := p.start("chat", "--json", "--log-level", "info")
	l.ask(`{"text":"/help"}`, `"reply"`)
	applied := func(n int) {
		eventually(t, fmt.Sprint(n, " edits are applied"), l.errs.String, func() bool {
			return strings.Count(l.errs.String(), `"settings_applied","changed":["agents.cairn.compaction.keep_last_n",`) == n
		})
	}
	for n, file := range []string{"one.toml", "two.toml"} {
		p.write(file, fmt.Sprintf("[defaults.compaction]\nkeep_last_n = %d\n", 6+n))
		check.NoError(t, os.Symlink(file, filepath.Join(p.dir, "next")))
		check.NoError(t, os.Rename(filepath.Join(p.dir, "next"), filepath.Join(p.dir, "config.toml")))
		applied(n + 1)
	}
	l.signal(syscall.SIGHUP)
	l.logs(`"settings_applied","changed":[]`)
	p.write("two.toml", "") // which would let anybody in
	l.logs("it is empty")
	l.signal(syscall.SIGHUP)
	eventually(t, "the reload refuses it too", l.errs.String, func() bool { return strings.Count(l.errs.String(), "it is empty") == 2 })
	l.end()
}

func TestAgentEditsApply(t *testing.T) {
	server := llmtest.Serve(t, func(*llmtest.Exchange) {})
	with := func(agents string) string {
		return fmt.Sprintf("[llm]\nbase_url = %q\nmodel = \"m\"\napi_key = \"k\"\n%s", server.URL, agents)
	}
	agent := "[[agents]]\nid = %q\ncontext_window = %d\ninstructions = %q\n"
	tight := "[agents.compaction]\nbackground_threshold = 0.2\n"
	s := startBot(t, with(fmt.Sprintf(agent, "a", 2500, "old")+tight+fmt.Sprintf(agent, "b", 9000, "")))
	s.awaitLog("background_threshold = 0.2 (500 tokens): reached before the first message. Of a window of 2500 tokens", 1)
	old := s.current.Load()
	s.edit(with(fmt.Sprintf(agent, "b", 9000, "") + fmt.Sprintf(agent, "a", 12_000, "new") + "[agents.compaction]\nmodel = \"small\"\n" +
		"[[bindings]]\nconnector = \"terminal\"\nchannel = \"garden\"\nagent = \"a\"\nrespond = \"all\"\n"))
	s.awaitLog(settingsApplied, 1)
	now := s.current.Load()
	check.Equal(t, "first agent", now.settings.AgentFor("terminal:x"), "b")
	check.Equal(t, "bound agent", now.settings.AgentFor("terminal:garden"), "a")
	check.Equal(t, "respond setting", s.rules(&now.settings).Respond("terminal:garden"), access.RespondAll)
	a := now.agents["a"]
	check.That(t, a.Instructions == "new" && a.Model.Window(t.Context()).Tokens == 12_000 && a.Worker.Name() == "small", "got agent %+v", a)
	check.Equal(t, "the other agent's model, with what it has learned", now.agents["b"].Model, old.agents["b"].Model)
	check.Contains(t, "log", s.log.String(), `agents.a.context_window`, `agents.a.instructions`, `agents.a.compaction.model`, "bindings.1.respond", "changed=\"[agents ")
	s.edit("recall_tokens = 50\n" + with(fmt.Sprintf(agent, "b", 9000, "")))
	s.awaitLog(settingsApplied, 2)
	check.Equal(t, "recalled tokens before the edit", now.agents["b"].Recall, 600)
	check.Equal(t, "recalled tokens after the edit", s.current.Load().agents["b"].Recall, 50)
	check.Len(t, "faults of the policy that a removed agent keeps for its open conversations", now.agents["a"].Policy().Validate(), 0)
}

// Each setting either applies while the bot runs or is marked as one that needs a restart.
func TestEverySettingAppliesOrNeedsARestart(t *testing.T) {
	live := []string{"respond", "turns_per_minute", "calls_per_hour", "budget_per_day", "budget_per_month", "budget_per_person", "restricted", "recall_tokens", "share_memories", "memory.notice", "language", "web.posts_per_hour"}
	for _, key := range compactor.Keys() {
		live = append(live, "defaults.compaction."+key)
	}
	for _, list := range []string{"allow", "deny", "bots", "owners", "managers", "respond_in_threads", "search_everywhere", "unsearched"} {
		live = append(live, "discord."+list, "slack."+list)
	}
	for _, setting := range config.Reference() {
		table, _, _ := strings.Cut(setting.Key, ".")
		applies := slices.Contains(live, setting.Key) || slices.Contains([]string{"backup", "llm", "providers", "prices", "agents", "bindings", "tools", "hooks"}, table)
		check.That(t, applies != setting.Restart,
			"%s: config/config.toml marks it with (restart): %v, the list of settings that apply while the bot runs has it: %v; if an edit of it applies while the bot runs, add it to that list, else the mark",
			setting.Key, setting.Restart, applies)
	}
}
