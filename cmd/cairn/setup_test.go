package main

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/check"

	"cairn/discord/discordtest"
	"cairn/llm/llmtest"
	"cairn/slack/slacktest"
)

// tree returns the content of a folder: names and files.
func tree(t *testing.T, dir string) (all string) {
	t.Helper()
	check.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			all += path + "\n"
			return err
		}
		all += path + ": " + read(t, path) + "\n"
		return nil
	}))
	return all
}

func TestSetupByAScript(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	d := discordtest.New(discordtest.Options{})
	t.Cleanup(d.Close)
	w := slacktest.New(slacktest.Options{})
	t.Cleanup(w.Close)
	model := modelServer(t, func(x *llmtest.Exchange) { x.Say("yes") }).URL
	broken := modelServer(t, failing["an unknown model"].do).URL
	t.Run("what is missing or wrong is said, and changes nothing", func(t *testing.T) {
		p := newFolder(t, "EMPTY=", "GOOD=token")
		p.write("empty", "\n")
		before := tree(t, p.dir)
		discordArgs := "--platform discord --api-base " + d.URL
		for args, want := range map[string]struct {
			code int
			text string
		}{
			"":                                   {exitUsage, "pass --model"},
			"--model openai --platform terminal": {exitUsage, "pass --model-key"},
			"--model none":                       {exitUsage, "pass --platform"},
			"--model none --platform x":          {exitUsage, "must be discord, slack or terminal"},
			"--model none --platform slack":      {exitUsage, "pass --slack-bot-token"},
			"--model none --discord-token xyz-secret " + discordArgs:        {exitUsage, `"file:PATH" or "env:NAME"`},
			"--model none --discord-token env:EMPTY " + discordArgs:         {exitUsage, "EMPTY is not set"},
			"--model none --discord-token file:empty " + discordArgs:        {exitUsage, "empty is empty"},
			"--model none --discord-token file:none " + discordArgs:         {exitUsage, "no such file"},
			"--model gpt --platform terminal":                               {exitUsage, "the model must be openai, anthropic, none, or an address"},
			"--model http://u:pw-4711@127.0.0.1:1/v1 --platform terminal":   {exitUsage, "the model must be"},
			"--model http://127.0.0.1:1/v1 --platform terminal":             {exitFailed, "connect"},
			"--model " + broken + " --model-name x --platform terminal":     {exitFailed, "unknown model"},
			"--model openai --model-key none --platform terminal":           {exitUsage, "a key is required"},
			"--model none --platform terminal --config nowhere/config.toml": {exitNotFound, "no such file"},
			"--model none --platform terminal extra":                        {exitUsage, "accepts 0 arg(s)"},
		} {
			r := p.run("", append([]string{"setup"}, strings.Fields(args)...)...)
			if r.code != want.code || !strings.Contains(r.err, want.text) || strings.Contains(r.out+r.err, "xyz-secret") || strings.Contains(r.out+r.err, "pw-4711") {
				t.Errorf("%s: exit code %d, %s%s", args, r.code, r.out, r.err)
			}
			if now := tree(t, p.dir); now != before {
				t.Fatalf("%s: got %s", args, now)
			}
		}
	})
	t.Run("with all flags nothing is asked", func(t *testing.T) {
		p := newFolder(t, "KEY=key-key-key", "SLACK_BOT_TOKEN="+slacktest.BotToken)
		p.write("app", slacktest.AppToken)
		out := p.must("", "setup", "--model", model, "--model-key", "env:KEY", "--platform", "slack", "--slack-app-token", "file:app", "--api-base", w.APIURL, "--no-run", "--data", "elsewhere")
		check.Contains(t, "output", out, "✓ test-model answered", "Using SLACK_BOT_TOKEN.", "Start the bot with `cairn run --data \"elsewhere\"`. In a Slack channel")
		settings := read(t, filepath.Join(p.dir, "config.toml"))
		check.Contains(t, "settings", settings, `model = "test-model"`, `api_key = "file:secrets/model-key"`, `bot_token = "file:secrets/slack-bot-token"`, "data_dir = \""+filepath.Join(p.dir, "elsewhere")+`"`)
		check.Contains(t, "doctor", p.must("", "doctor"), "ok     slack     both tokens are good")
	})
	t.Run("settings that exist are replaced only by force, and kept", func(t *testing.T) {
		p := newFolder(t)
		p.write("config.toml", "workers = 2\n")
		args := []string{"setup", "--model", "none", "--platform", "terminal", "--no-run"}
		if r := p.run("", args...); r.code != exitUsage || !strings.Contains(r.err, "pass --force to replace config.toml") || read(t, filepath.Join(p.dir, "config.toml")) != "workers = 2\n" {
			t.Errorf("exit code %d, %s", r.code, r.err)
		}
		check.Contains(t, "output", p.must("", append(args, "--force")...), "Kept: config.toml.")
		kept := check.Must(filepath.Glob(filepath.Join(p.dir, "config.toml.*")))(t)
		check.Len(t, "kept", kept, 1)
		check.Equal(t, "kept file", read(t, kept[0]), "workers = 2\n")
		p.must("", "config", "check")
	})
	t.Run("those of a clone of the source, which change nothing, are replaced unasked", func(t *testing.T) {
		p := newFolder(t)
		p.write("config.toml", read(t, checkout+"/config.toml"))
		check.Contains(t, "output", p.must("", "setup", "--model", "none", "--platform", "terminal", "--no-run"), "Kept: config.toml.")
	})
	t.Run("with the terminal as its platform the bot talks there", func(t *testing.T) {
		p := newFolder(t)
		r := p.run("hello\n", "setup", "--model", model, "--platform", "terminal")
		check.That(t, r.code == 0 && strings.HasSuffix(r.out, "yes\n"), "exit code %d, %s%s", r.code, r.out, r.err)
	})
}
