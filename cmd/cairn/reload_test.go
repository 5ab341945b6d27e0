package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/compactor"
	"cairn/config"
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
	t.Chdir(t.TempDir()) // for the data folder
	check.NoError(t, os.WriteFile("config.toml", []byte(text), 0o600))
	return startBotHere(t, "config.toml")
}

// startBotHere starts a bot in the working folder, with --config unless it is empty.
func startBotHere(t *testing.T, file string) *runningBot {
	t.Helper()
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("OPENAI_BASE_URL", "")
	s := &runningBot{t: t, file: "config.toml", log: &check.Buffer{}}
	a := &app{config: file, in: strings.NewReader(""), out: io.Discard, err: io.Discard}
	check.NoError(t, a.load())
	connector := check.Must(newImportConnector())(t)
	s.bot = check.Must(a.start(t.Context(), slog.New(slog.NewTextHandler(s.log, nil)), (*config.Settings).Rules, connector))(t)
	t.Cleanup(func() { check.NoError(t, s.close()) })
	s.watchSettings(true)
	return s
}

// edit replaces the file, as editors do.
func (s *runningBot) edit(text string) {
	s.t.Helper()
	other := s.file + "~"
	check.NoError(s.t, os.WriteFile(other, []byte(text), 0o600))
	check.NoError(s.t, os.Rename(other, s.file))
}

// told waits until the log contains a text n times.
func (s *runningBot) told(what string, n int) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("the log has %q %d times", what, n), s.log.String, func() bool { return strings.Count(s.log.String(), what) >= n })
}

// settle is how often the watcher reads the file.
const settle = 200 * time.Millisecond

const taken = "settings_applied"

func TestSettingsEditsApply(t *testing.T) {
	s := startBot(t, "[defaults.compaction]\nkeep_last_n = 5\n")
	policy := func() compactor.Policy { return s.current.Load().agents["cairn"].Policy() }

	s.edit("[defaults.compaction]\nkeep_last_n = 6\nkeep_first = 0\n[discord]\ndeny = [\"7\"]\n")
	s.told(taken, 1)
	p := policy()
	check.Equal(t, "keep_last_n", p.KeepLastN, 6)
	check.Equal(t, "keep_first", p.KeepFirst, 0)
	check.Contains(t, "log", s.log.String(), "defaults.compaction.keep_last_n", "discord.deny")
	o := s.current.Load().agents["cairn"].Origin
	check.Equal(t, "origins", o("keep_first"), "[defaults.compaction]")
	check.Equal(t, "origin of pin_budget", o("pin_budget"), "")

	t.Run("an invalid edit is reported once, whole, and changes nothing", func(t *testing.T) {
		standing := s.current.Load()
		bad := "[defaults.compaction]\nkeep_last_n = 7\nkeep_first = 99\nbackground_threshold = 80\n"
		s.edit(bad)
		s.told("settings_have_mistakes", 1)
		text := s.log.String()
		check.Contains(t, "the log", text, "config.toml:3: [defaults.compaction]: keep_first = 99: must be from 0 to 20", "write 0.80 for 80 %")
		s.edit(bad) // the same once more
		time.Sleep(3 * settle)
		check.Equal(t, "log lines", strings.Count(s.log.String(), "settings_have_mistakes"), 1)
		check.Equal(t, "settings", s.current.Load(), standing)
		check.Equal(t, "settings", policy().KeepLastN, 6)
		s.edit(bad + "max_turns = 0\n")
		s.told("settings_have_mistakes", 2)
	})
	t.Run("a file that goes away changes nothing, and one that comes back counts", func(t *testing.T) {
		check.NoError(t, os.Remove(s.file))
		s.told("read_settings_failed", 1)
		check.Equal(t, "settings", policy().KeepLastN, 6)
		s.edit("[defaults.compaction]\nkeep_last_n = 8\n")
		s.told(taken, 2)
		check.Equal(t, "keep_last_n", policy().KeepLastN, 8)
	})
	t.Run("a file that was emptied lets nobody in", func(t *testing.T) {
		check.NoError(t, os.WriteFile(s.file, nil, 0o600))
		s.told("it is empty", 1)
		check.Equal(t, "settings", policy().KeepLastN, 8)
	})
	t.Run("of many writes the last counts", func(t *testing.T) {
		for n := range 20 {
			check.NoError(t, os.WriteFile(s.file, fmt.Appendf(nil, "[defaults.compaction]\nkeep_last_n = %d\n", 10+n), 0o600))
			time.Sleep(settle / 30)
		}
		eventually(t, "the last is applied", s.log.String, func() bool { return policy().KeepLastN == 29 })
	})
	t.Run("what needs a restart is named, and the rest counts", func(t *testing.T) {
		s.edit("workers = 2\ndata_dir = \"other\"\n[defaults.compaction]\nkeep_last_n = 11\n")
		s.told("settings_need_restart", 1)
		check.Contains(t, "the log", s.log.String(), `settings="[data_dir workers]"`)
		check.Equal(t, "keep_last_n", policy().KeepLastN, 11)
	})
	t.Run("hooks, tools and prices apply", func(t *testing.T) {
		s.edit("[hooks]\non_reply = \"true\"\n[[tools]]\nid = \"calc\"\ncommand = \"no-such-program\"\nallow = [\"add\"]\n[prices.m]\ninput = 3\noutput = 1\n")
		eventually(t, "the edit is applied", s.log.String, func() bool { return s.hooks.Has("on_reply") && len(s.tools.Status()) == 1 })
		price, _ := s.settings().Money().Prices.Of("m")
		check.Equal(t, "price", price.Input, 3)
	})
	t.Run("SIGHUP reloads the file", func(t *testing.T) {
		n := strings.Count(s.log.String(), taken)
		check.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
		s.told(taken, n+1)
	})
}

func TestRevertedMistakeIsConfirmed(t *testing.T) {
	const good = "[defaults.compaction]\nkeep_last_n = 5\n"
	s := startBot(t, good)
	s.edit(good + "keep_first = 99\n")
	s.told("settings_have_mistakes", 1)
	s.edit(good)
	s.told(taken, 1)
	check.NoError(t, os.Remove(s.file))
	s.told("read_settings_failed", 1)
	s.edit(good)
	s.told(taken, 2)
}

// Managers of configuration link to a file, which they create later and replace by another.
func TestEditOfALinkedFileApplies(t *testing.T) {
	t.Chdir(t.TempDir())
	s := startBotHere(t, "")
	for n, file := range []string{"one.toml", "two.toml"} {
		check.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "[defaults.compaction]\nkeep_last_n = %d\n", 6+n), 0o600))
		check.NoError(t, os.Symlink(file, "next"))
		check.NoError(t, os.Rename("next", "config.toml"))
		s.told(taken, n+1)
		check.Equal(t, "keep_last_n", s.current.Load().agents["cairn"].Policy().KeepLastN, 6+n)
	}
}

// Each setting either applies while the bot runs or is marked as one that needs a restart.
func TestEverySettingAppliesOrNeedsARestart(t *testing.T) {
	live := map[string]bool{}
	for _, key := range []string{"respond", "turns_per_minute", "calls_per_hour", "budget_per_day", "budget_per_month", "restricted", "recall_tokens", "share_memories", "language"} {
		live[key] = true
	}
	for _, key := range compactor.Keys() {
		live["defaults.compaction."+key] = true
	}
	for _, list := range []string{"allow", "deny", "bots", "owners", "managers"} {
		live["discord."+list], live["slack."+list] = true, true
	}
	for _, setting := range config.Reference() {
		table, _, _ := strings.Cut(setting.Key, ".")
		applies := live[setting.Key] || slices.Contains([]string{"backup", "llm", "providers", "prices", "agents", "bindings", "tools", "hooks"}, table)
		if applies == setting.Restart {
			t.Errorf("%s: applies while the bot runs: %v, config.toml says that it needs a restart: %v", setting.Key, applies, setting.Restart)
		}
	}
}
