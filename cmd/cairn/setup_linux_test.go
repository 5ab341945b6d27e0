package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/slacktest"
)

func tree(t *testing.T, dir string) (all string) {
	t.Helper()
	check.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		all += path + "\n"
		if err == nil && !d.IsDir() {
			all += read(t, path) + "\n"
		}
		return err
	}))
	return all
}

func TestSetupByAScript(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	on := newPlatforms(t)
	model := modelServer(t, summarizing(saying("yes"))).URL
	broken := modelServer(t, failing["an unknown model"].do).URL
	t.Run("what is missing or wrong is said, and changes nothing", func(t *testing.T) {
		p := newFolder(t, "EMPTY=", "GOOD=token")
		p.write("empty", "\n")
		before := tree(t, p.dir)
		discord := "--model none --platform discord --api-base " + on.discord.URL + " --discord-token "
		for args, want := range map[string]struct {
			code int
			text string
		}{
			"":                                   {exitUsage, "pass --model"},
			"--model openai --platform terminal": {exitUsage, "pass --model-key"},
			"--model none":                       {exitUsage, "pass --platform"},
			"--model none --platform x":          {exitUsage, "must be discord, slack or terminal"},
			"--model none --platform slack":      {exitUsage, "pass --slack-bot-token"},
			discord + "xyz-secret":               {exitUsage, `"file:PATH" or "env:NAME"`},
			discord + "env:EMPTY":                {exitUsage, "EMPTY is not set"},
			discord + "file:empty":               {exitUsage, "--discord-token: the file it names is empty"},
			discord + "file:none":                {exitUsage, "no such file"},
			"--model gpt --platform terminal":    {exitUsage, "the model must be openai, anthropic, none, or an address"},
			"--model http://u:pw-4711@127.0.0.1:1/v1 --platform terminal":   {exitUsage, "the server's address must look like"},
			"--model http://127.0.0.1:1/v1 --platform terminal":             {exitFailed, "nothing listens at http://127.0.0.1:1/v1: start the server, or correct the address"},
			"--model " + broken + " --model-name x --platform terminal":     {exitFailed, "does not have the model"},
			"--model openai --model-key none --platform terminal":           {exitUsage, "a key is required"},
			"--model none --platform terminal --config nowhere/config.toml": {exitNotFound, "no such file"},
			"--model none --platform terminal extra":                        {exitUsage, "unexpected argument"},
		} {
			r := p.fails(want.code, want.text, append([]string{"setup"}, strings.Fields(args)...)...)
			check.Lacks(t, args, r.out+r.err, "xyz-secret", "pw-4711")
			check.Require(t, tree(t, p.dir) == before, "%s: got %s", args, tree(t, p.dir))
		}
	})
	t.Run("with all flags nothing is asked", func(t *testing.T) {
		p := newFolder(t, "KEY=key-key-key", "SLACK_BOT_TOKEN="+slacktest.BotToken)
		p.write("app", slacktest.AppToken)
		out := p.must("", "setup", "--model", model, "--model-key", "env:KEY", "--platform", "slack", "--slack-app-token", "file:app", "--api-base", on.slack.APIURL, "--no-run", "--data", "elsewhere")
		check.Contains(t, "output", out, "✓ test-model answered", "Using SLACK_BOT_TOKEN.", "Start the bot with `cairn run --data \"elsewhere\"`. In a Slack channel")
		check.Contains(t, "settings", p.read("config.local.toml"), `model = "test-model"`, `api_key = "file:secrets/model-key"`, `bot_token = "file:secrets/slack-bot-token"`, "data_dir = \""+filepath.Join(p.dir, "elsewhere")+`"`)
		p.doctorSays(0, "ok     slack     both tokens are valid")
	})
	t.Run("config.toml stays, and a local file that sets the same changes only by force, its comments kept", func(t *testing.T) {
		shipped := read(t, checkout+"/config.toml")
		p := newFolder(t).with(shipped)
		args := []string{"setup", "--model", model, "--platform", "terminal", "--no-run"}
		check.Contains(t, "output", p.must("", args...), "Written: config.local.toml")
		check.Equal(t, "config.toml", p.read("config.toml"), shipped)
		check.Contains(t, "output of a second time", p.must("", args...), "config.local.toml needs no change.")
		const mine = "# mine\n\n[llm]\n# at home\nmodel = \"old\" # a good one\n\n[[agents]]\nid = \"ada\"\nmodel = \"other\"\n"
		p.write("config.local.toml", mine)
		p.fails(exitUsage, "pass --force to change llm.model in config.local.toml", args...)
		check.Equal(t, "settings", p.read("config.local.toml"), mine)
		check.Contains(t, "output", p.must("", append(args, "--force")...), "Kept: config.local.toml.", "The agent ada keeps its own model, from [[agents]]: other.")
		want := strings.Replace(strings.Replace(mine, `"old"`, `"test-model"`, 1), "[llm]\n", "[llm]\nbase_url = \""+model+"\"\n", 1)
		check.Equal(t, "the local file", p.read("config.local.toml"), want)
		kept := check.Must(filepath.Glob(filepath.Join(p.dir, "config.local.toml.*")))(t)
		check.Len(t, "kept", kept, 1)
		check.Equal(t, "kept file", read(t, kept[0]), mine)
		p.must("", "config", "check")
	})
	t.Run("files with mistakes", func(t *testing.T) {
		p := newFolder(t).with("workers = 0\n")
		args := []string{"setup", "--model", "none", "--platform", "terminal", "--no-run"}
		p.fails(exitUsage, "config.toml:1: workers = 0", args...)
		p.write("config.local.toml", "[llm")
		p.fails(exitUsage, "config.local.toml:1: this is not valid TOML", args...)
		check.Equal(t, "the local file", p.read("config.local.toml"), "[llm")
	})
	t.Run("with the terminal as its platform the bot talks there", func(t *testing.T) {
		out := newFolder(t).run("hello\n", "setup", "--model", model, "--platform", "terminal").out
		check.That(t, strings.HasSuffix(out, "yes\n"), "got %s", out)
	})
}

// TestAbortedSetupChangesNothing sends a signal while a secret is typed.
func TestAbortedSetupChangesNothing(t *testing.T) {
	p := newFolder(t)
	s := p.atScreen("setup")
	s.answer("Which model should answer?", "openai")
	s.until("(hidden): ")
	s.untilEchoIsOff()
	check.Must(s.pty.WriteString("sk-half-a-key"))(t)
	time.Sleep(100 * time.Millisecond) // the kernel decides a moment later whether it is shown
	check.NoError(t, s.cmd.Process.Signal(syscall.SIGINT))
	check.Lacks(t, "the screen", s.end(130), "half-a-key")
	check.Len(t, "files", check.Must(os.ReadDir(p.dir))(t), 0)
}

// serverWithKey is a model server that requires a key, and answers "Here I am.".
func serverWithKey(t *testing.T, key string) (address string) {
	t.Helper()
	behind := check.Must(url.Parse(strings.TrimSuffix(modelServer(t, saying("Here I am.")).URL, "/v1")))(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			http.Error(w, `{"error":{"message":"no","code":"invalid_api_key"}}`, http.StatusUnauthorized)
			return
		}
		httputil.NewSingleHostReverseProxy(behind).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

func TestSetupForDiscord(t *testing.T) {
	check.SkipUnderRace(t)
	const token, key = "discord-token-0815", "hush-hush-4711"
	on := platformsOf(t, discordtest.Options{Token: token})
	bot := on.discord.Bot.Username
	model := serverWithKey(t, key)
	p := newFolder(t).with("workers = 2\n")
	p.width = 80
	s := p.atScreen("setup", "--api-base", on.discord.URL)
	for _, step := range [][]string{ // a question and the answer to it; or what is shown
		{"Which model should answer?", "nobody"},
		{"Enter a number from 1 to 4: ", "3"},
		{"The server's address [http://localhost:11434/v1]: ", model},
		{"(hidden; Enter: none): ", "wrong-key-1234"},
		{"✗ the model's server rejected the API key"},
		{"(hidden; Enter: none): ", key},
		{"Which model? [", ""},
		{"✓ test-model answered in "},
		{"Where will people talk to the bot?", "1"},
		{"The token (hidden): ", "no token"},
		{"✗ DISCORD_TOKEN is not a bot token", "discord-wrong-1"},
		{"✗ "},
		{"The token (hidden): ", token},
		{"✓ The token works: the bot is " + bot},
		{"/oauth2/authorize?client_id="},
		{"Written: secrets/model-key"},
		{"Written: secrets/discord-token"},
		{"Written: config.local.toml"},
		{"@" + bot + " hello"},
	} {
		if len(step) == 1 {
			s.until(step[0])
		} else {
			s.answer(step[0], step[1])
		}
	}
	eventually(t, "the bot is connected", s.text.String, func() bool {
		return len(on.discord.Connections()) > 0 && on.discord.Connections()[0].Identify
	})
	on.sayOnDiscord("hello")
	eventually(t, "it has answered", s.text.String, func() bool { return slices.Equal(on.onDiscord(), []string{"Here I am."}) })
	check.NoError(t, s.cmd.Process.Signal(syscall.SIGINT))
	text := s.end(130)
	for name, secret := range map[string]string{"model-key": key, "discord-token": token} { // which only their owner can read
		info := check.Must(os.Stat(filepath.Join(p.dir, "secrets", name)))(t)
		check.Equal(t, name, fmt.Sprint(info.Mode().Perm(), strings.TrimSpace(p.read("secrets/"+name))), fmt.Sprint(fs.FileMode(0o600), secret))
		check.Lacks(t, "the screen and the settings", text+p.read("config.local.toml"), secret)
	}
	check.Equal(t, "the folder", check.Must(os.Stat(filepath.Join(p.dir, "secrets")))(t).Mode().Perm(), 0o700)
	p.must("", "config", "check")
	before, _, _ := strings.Cut(text, "Written: ")
	for line := range strings.Lines(before) { // which breaks no word; a link is longer
		check.That(t, len(strings.Fields(line)) == 1 || utf8.RuneCountInString(strings.TrimRight(line, "\r\n")) <= 80, "too wide: %q", line)
	}
}

func TestSetupForDiscordWithoutIntent(t *testing.T) {
	on := platformsOf(t, discordtest.Options{Forbidden: discordgo.IntentMessageContent})
	p := newFolder(t, "DISCORD_TOKEN=token")
	args := []string{"setup", "--model", "none", "--platform", "discord", "--api-base", on.discord.URL, "--no-run"}
	check.Contains(t, "errors", p.fails(exitFailed, "Message Content Intent", args...).err, "--without-message-content")
	p.must("", append(args, "--without-message-content")...)
	check.Contains(t, "settings", p.read("config.local.toml"), "message_content = false")
	t.Run("at a terminal it waits until the intent is on", func(t *testing.T) {
		s := newFolder(t, "DISCORD_TOKEN=token").atScreen(args...)
		s.until("switch on Message Content Intent")
		s.answer("Press Enter when it is on: ", "")
		s.until("✗ the bot is not allowed to read messages")
		on.discord.EnableIntents(discordgo.IntentMessageContent)
		s.answer("Press Enter when it is on: ", "")
		s.until("Written: config.local.toml")
		s.end(0)
	})
}
