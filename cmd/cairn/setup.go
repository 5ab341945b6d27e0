// cairn setup: configure a bot and start it.

package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/config"
	"cairn/connector/discord"
	"cairn/connector/terminal"
	"cairn/llm"
)

func newSetup(a *app) *cobra.Command {
	s := &setup{
		app: a, modelKey: source{flag: "--model-key"}, discordToken: source{flag: "--discord-token", variable: "DISCORD_TOKEN"},
		slackBot: source{flag: "--slack-bot-token", variable: "SLACK_BOT_TOKEN"}, slackApp: source{flag: "--slack-app-token", variable: "SLACK_APP_TOKEN"},
	}
	cmd := &cobra.Command{
		Use:   "setup [--model KIND] [--platform NAME] [--no-run]",
		Short: "Set up a model and a platform, and start the bot",
		Long: `Ask for a model, a platform and its tokens, check each against its server, write the settings to
config.local.toml and the secrets to files that only you can read, in the folder secrets beside it,
and start the bot. Setup writes nothing until everything is checked, and never changes config.toml,
which config.local.toml overrides. In an existing config.local.toml it keeps other settings and
comments, changes a setting only if you confirm or pass --force, and keeps the old file beside it.

At a terminal, setup asks for everything that no flag sets; the answer "back" returns to the
previous question. Pass secrets as "file:PATH" or "env:NAME": other users of the machine can see arguments.
Without a flag, setup uses OPENAI_API_KEY, ANTHROPIC_API_KEY, DISCORD_TOKEN, SLACK_BOT_TOKEN and
SLACK_APP_TOKEN.`,
		Example: `  cairn setup
  cairn setup --model http://localhost:11434/v1 --model-name qwen3 --platform terminal
  DISCORD_TOKEN=… cairn setup --model openai --model-key env:KEY --platform discord --no-run`,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&s.model, "model", "", "`KIND`: openai, anthropic, none, or the address of a server with the API of one of them")
	f.StringVar(&s.modelName, "model-name", "", "`NAME` of the model (default: chosen from what the server offers)")
	f.StringVar(&s.modelKey.given, "model-key", "", "where the key is: file:PATH, env:NAME, or none")
	f.StringVar(&s.platform, "platform", "", "`NAME`: discord, slack, or terminal")
	f.StringVar(&s.discordToken.given, "discord-token", "", "where the token is: file:PATH or env:NAME")
	f.BoolVar(&s.withoutContent, "without-message-content", false, "on Discord, read only messages addressed to the bot")
	f.StringVar(&s.slackBot.given, "slack-bot-token", "", "where the token xoxb-… is: file:PATH or env:NAME")
	f.StringVar(&s.slackApp.given, "slack-app-token", "", "where the token xapp-… is: file:PATH or env:NAME")
	f.StringVar(&s.apiBase, "api-base", "", "`ADDRESS` of a server compatible with the platform (default: the platform itself)")
	f.BoolVar(&s.force, "force", false, "change settings that config.local.toml has; the old file is kept beside it")
	f.BoolVar(&s.noRun, "no-run", false, "do not start the bot")
	return cmd
}

type setup struct {
	app    *app
	target string // the settings file; its local file is written
	dialogue

	// What the flags say.
	model, modelName, platform, apiBase        string
	modelKey, discordToken, slackBot, slackApp source
	withoutContent, force, noRun               bool

	// What was answered and checked.
	kind     string        // one of modelChoices
	address  string        // that --model names, as it was written
	at       config.LLM    // the model and its server, with the key itself
	offered  []llm.Offered // what the server lists; nil: nothing
	chosen   string        // one of platformChoices
	discord  discord.Application
	token    string // of Discord
	botToken string // of Slack
	appToken string
	hello    string // what to write to the bot once it is running
	edited   config.Edited
}

// source is where a secret comes from: its flag, else an environment variable, else a question.
type source struct{ flag, given, variable string }

var errAborted = errors.New("stopped: nothing was written")

func (s *setup) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	s.target = cmp.Or(s.app.config, config.DefaultFile)
	s.out = func(text string) {
		fmt.Fprint(s.app.out, wrapped(s.app.out, terminal.Printable(s.app.secrets.mask(text))))
	}
	if isTerminal(s.app.in) {
		s.tty = s.app.in.(*os.File)
		s.in = bufio.NewReader(s.tty)
	}
	if err := s.prepare(); err != nil {
		return err
	}
	if s.tty != nil {
		s.say("Choose a model and a platform; then the bot starts. Nothing is written until everything is checked. \"back\" returns to the previous question; Ctrl-C quits.")
	}
	always := func() bool { return true }
	err := s.askAll(ctx, []question{
		{always, s.chooseModel},
		{func() bool { return s.kind == otherServer }, s.enterAddress},
		{func() bool { return s.kind != noModel }, s.enterKey},
		{func() bool { return s.kind != noModel }, s.chooseName},
		{always, s.choosePlatform},
		{func() bool { return s.chosen == onDiscord }, s.enterDiscordToken},
		{func() bool { return s.chosen == onDiscord && s.lacksContent() }, s.awaitContentIntent},
		{func() bool { return s.chosen == onSlack }, s.enterSlackBotToken},
		{func() bool { return s.chosen == onSlack }, s.enterSlackAppToken},
		{always, s.confirm},
	})
	if err == nil {
		err = s.write()
	}
	if err != nil {
		return err
	}
	return s.start(cmd)
}

// prepare reports what would prevent writing the settings, before the first question.
func (s *setup) prepare() error {
	if _, err := os.Stat(filepath.Dir(s.target)); err != nil {
		return fmt.Errorf("the folder of --config: %w: create it first", err)
	}
	if _, err := config.Edit(s.target); err != nil {
		return usage(fmt.Errorf("%w\ncorrect this first; setup keeps what is in the file", err))
	}
	if _, err := config.Load(s.target); s.tty != nil && err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.say("The settings have mistakes. Setup replaces values that it asks for; correct the others yourself:\n%v\n", err)
	}
	return nil
}

// start starts the bot with the written settings, or says how to.
func (s *setup) start(cmd *cobra.Command) error {
	if err := s.app.load(); err != nil {
		return err
	}
	for _, agent := range s.app.settings.Agents {
		if configured := cmp.Or(agent.Model, agent.BaseURL); configured != "" && s.kind != noModel {
			s.say("The agent %s keeps its own model, from [[agents]]: %s.", agent.ID, config.MaskAddress(configured))
		}
	}
	command := map[bool]string{true: "chat", false: "run"}[s.chosen == inTerminal]
	full := "cairn " + command + s.app.sameFolder()
	if s.noRun {
		s.say("Start the bot with `%s`. %s", full, s.hello)
		return nil
	}
	s.say("Starting the bot; next time, start it with `%s`.\n%s\n", full, s.hello)
	if command == "run" {
		return s.app.run(cmd.Context())
	}
	return s.app.chat(cmd, terminal.Options{Channel: defaultChannel, User: cmp.Or(os.Getenv("USER"), "you")})
}

const settingsHead = "# Written by `cairn setup`. It overrides config.toml. All settings and their defaults:\n" +
	"# docs/configuration.md. Edits apply while the bot runs; `cairn config check` finds mistakes.\n\n"

// confirm asks whether settings that the local file has may change.
func (s *setup) confirm(ctx context.Context) (err error) {
	values, err := s.values()
	if err == nil {
		s.edited, err = config.Edit(s.target, values...)
	}
	if err != nil {
		return fmt.Errorf("%w\n%w", err, errAborted)
	}
	if s.edited.Before == "" && s.edited.Text != "" {
		s.edited.Text = settingsHead + s.edited.Text
	}
	if len(s.edited.Changed) == 0 || s.force {
		return nil
	}
	answer, err := s.line(ctx, "--force to change "+strings.Join(s.edited.Changed, ", ")+" in "+s.edited.File,
		fmt.Sprintf("%s has other values of\n  %s\nChange them? The old file is kept. [y/N] ", s.edited.File, strings.Join(s.edited.Changed, "\n  ")))
	if err != nil {
		return err
	}
	answer = strings.ToLower(answer)
	if answer != "y" && answer != "yes" {
		return errAborted
	}
	return nil
}

const secretsFolder = "secrets"

// The files of secrets.
const (
	modelKeyFile     = "model-key"
	discordTokenFile = "discord-token"
	slackBotFile     = "slack-bot-token"
	slackAppFile     = "slack-app-token"
)

// secrets returns the secrets to write, by file.
func (s *setup) secrets() map[string]string {
	all := map[string]string{}
	if s.kind != noModel {
		all[modelKeyFile] = s.at.APIKey
	}
	switch s.chosen {
	case onDiscord:
		all[discordTokenFile] = s.token
	case onSlack:
		all[slackBotFile] = s.botToken
		all[slackAppFile] = s.appToken
	}
	return all
}

// values returns the settings to write.
func (s *setup) values() (all []config.Value, err error) {
	set := func(path string, value any) { all = append(all, config.Value{Path: path, Value: value}) }
	if s.app.data != "" {
		dir, err := filepath.Abs(s.app.data)
		if err != nil {
			return nil, err
		}
		set("data_dir", dir)
	}
	secrets := s.secrets()
	file := func(name string) string {
		if secrets[name] == "" {
			return ""
		}
		return "file:" + secretsFolder + "/" + name
	}
	set("llm.wire", "auto") // with which the model was tested
	set("llm.base_url", s.at.BaseURL)
	set("llm.model", s.at.Model)
	set("llm.api_key", file(modelKeyFile))
	switch s.chosen {
	case onDiscord:
		set("discord.token", file(discordTokenFile))
		set("discord.api_base", s.apiBase)
		set("discord.message_content", !s.withoutContent)
	case onSlack:
		set("slack.bot_token", file(slackBotFile))
		set("slack.app_token", file(slackAppFile))
		set("slack.api_base", s.apiBase)
	}
	return all, nil
}

// write writes the secrets, and then the settings that name them.
func (s *setup) write() error {
	folder := filepath.Join(filepath.Dir(s.target), secretsFolder)
	for _, name := range []string{modelKeyFile, discordTokenFile, slackBotFile, slackAppFile} {
		secret := s.secrets()[name]
		if secret == "" {
			continue
		}
		if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		if err := s.replace(filepath.Join(folder, name), secret+"\n"); err != nil {
			return err
		}
	}
	if s.edited.Text == s.edited.Before {
		s.say("%s needs no change.", s.edited.File)
		return nil
	}
	return s.replace(s.edited.File, s.edited.Text)
}

// replace writes a file that only its owner may read. An existing one is kept under a name with the time.
func (s *setup) replace(path, text string) error {
	before, err := os.ReadFile(path)
	if err == nil && string(before) == text {
		s.say("Unchanged: %s", path)
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		kept := path + time.Now().Format(".20060102T150405.000")
		if err := os.Rename(path, kept); err != nil {
			return err
		}
		s.say("Kept: %s", kept)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	s.say("Written: %s", path)
	return nil
}
