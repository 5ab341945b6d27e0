// cairn setup: configure a bot and start it; the questions that it asks at a terminal.

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cairn/config"
	"cairn/connector/terminal"
)

func newSetup(a *app) *cobra.Command {
	s := &setup{
		app: a, file: settingsTable{}, modelKey: source{flag: "--model-key"}, discordToken: source{flag: "--discord-token", variable: "DISCORD_TOKEN"},
		slackBot: source{flag: "--slack-bot-token", variable: "SLACK_BOT_TOKEN"}, slackApp: source{flag: "--slack-app-token", variable: "SLACK_APP_TOKEN"},
	}
	cmd := &cobra.Command{
		Use:   "setup [--model KIND] [--platform NAME] [--no-run]",
		Short: "Set up a model and a platform, and start the bot",
		Long: `Ask for a model, a platform and its tokens, check each against its server, write config.toml
and the secrets (each to a file that only you can read, in the folder secrets beside it), and
start the bot. Nothing is written until everything is checked. A config.toml that changes a
setting is replaced only if you confirm, or with --force; the old one is kept beside it.

Setup asks what no flag answers, but only at a terminal. Pass secrets as "file:PATH" or
"env:NAME": other users of the machine can see arguments. Without a flag, setup uses
OPENAI_API_KEY, ANTHROPIC_API_KEY, DISCORD_TOKEN, SLACK_BOT_TOKEN and SLACK_APP_TOKEN.`,
		Example: `  cairn setup
  cairn setup --model http://localhost:11434/v1 --model-name qwen3 --platform terminal
  DISCORD_TOKEN=… cairn setup --model openai --model-key env:KEY --platform discord --no-run`,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&s.model, "model", "", "`KIND`: openai, anthropic, none, or the address of a server with the API of one of them")
	f.StringVar(&s.modelName, "model-name", "", "`NAME` of the model (chosen from what the server offers)")
	f.StringVar(&s.modelKey.given, "model-key", "", "where the key is: file:PATH, env:NAME, or none")
	f.StringVar(&s.platform, "platform", "", "`NAME`: discord, slack, or terminal")
	f.StringVar(&s.discordToken.given, "discord-token", "", "where the token is: file:PATH or env:NAME")
	f.BoolVar(&s.withoutContent, "without-message-content", false, "on Discord, read only messages addressed to the bot")
	f.StringVar(&s.slackBot.given, "slack-bot-token", "", "where the token xoxb-… is: file:PATH or env:NAME")
	f.StringVar(&s.slackApp.given, "slack-app-token", "", "where the token xapp-… is: file:PATH or env:NAME")
	f.StringVar(&s.apiBase, "api-base", "", "`ADDRESS` of a server compatible with the platform (the platform itself)")
	f.BoolVar(&s.force, "force", false, "replace an existing config.toml; the old one is kept beside it")
	f.BoolVar(&s.noRun, "no-run", false, "do not start the bot")
	return cmd
}

type setup struct {
	app   *app
	tty   *os.File // the terminal; nil: there is none, so nothing is asked
	in    *bufio.Reader
	again bool // a step failed and is repeated: flags and the environment answer nothing

	model, modelName, platform, apiBase        string
	modelKey, discordToken, slackBot, slackApp source
	withoutContent, force, noRun               bool

	file    settingsTable
	secrets []secretFile
	hello   string // what to write to the bot once it is running
}

// source is where a secret comes from: its flag, else an environment variable, else a question.
type source struct{ flag, given, variable string }

var errAborted = errors.New("stopped: nothing was written")

func (s *setup) run(cmd *cobra.Command) error {
	ctx, target := cmd.Context(), cmp.Or(s.app.config, config.DefaultFile)
	if isTerminal(s.app.in) {
		s.tty = s.app.in.(*os.File)
		s.in = bufio.NewReader(s.tty)
	}
	_, absent := os.Lstat(target)
	settings, err := config.Load(target) // that of the source sets only defaults
	if changed := absent == nil && (err != nil || len(settings.Changed()) > 0); changed && !s.force {
		answer, err := s.line(ctx, "--force to replace "+target, fmt.Sprintf("%s exists. Replace it? The old one is kept. [y/N] ", target))
		if err != nil {
			return err
		}
		if answer = strings.ToLower(answer); answer != "y" && answer != "yes" {
			return errAborted
		}
	}
	if s.tty != nil {
		s.say("Choose a model and a platform; then the bot starts.\nCtrl-C quits. Nothing is written until everything is checked.")
	}
	write := func(context.Context) error { return s.write(target) }
	for _, step := range []func(context.Context) error{s.chooseModel, s.choosePlatform, write} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	command := map[bool]string{true: "chat", false: "run"}[s.platform == "terminal"]
	full := "cairn " + command + s.app.sameFolder()
	if s.noRun {
		s.say("Start the bot with `%s`. %s", full, s.hello)
		return nil
	}
	s.say("Starting the bot; next time, start it with `%s`.\n%s\n", full, s.hello)
	if err := s.app.load(); err != nil {
		return err
	}
	if command == "run" {
		return s.app.run(ctx)
	}
	return s.app.chat(cmd, terminal.Options{Channel: defaultChannel, User: cmp.Or(os.Getenv("USER"), "you")})
}

// say prints a line, without secrets and control characters.
func (s *setup) say(format string, args ...any) {
	fmt.Fprintln(s.app.out, terminal.Printable(s.app.secrets.mask(fmt.Sprintf(format, args...))))
}

// retry tries a step, and at a terminal again until it succeeds.
func (s *setup) retry(ctx context.Context, do func() error) error {
	defer func() { s.again = false }()
	for {
		err := do()
		if err == nil || s.tty == nil || ctx.Err() != nil || errors.Is(err, errAborted) {
			return err
		}
		s.say("✗ %v", err)
		s.again = true
	}
}

// secret reads a secret and registers it for masking; "" if there is none.
func (s *setup) secret(ctx context.Context, from source, prompt string) (value string, err error) {
	value = strings.TrimSpace(os.Getenv(from.variable))
	switch {
	case from.given != "" && !s.again:
		var plain bool
		if value, plain, err = new(config.Settings).Resolve(from.given); plain {
			err = errors.New(`pass a secret as "file:PATH" or "env:NAME": the list of processes shows arguments`)
		}
		if err != nil {
			err = usage(fmt.Errorf("%s: %w", from.flag, err))
		}
	case value != "" && !s.again:
		s.say("Using %s.", from.variable)
	default:
		if from.variable != "" {
			from.flag += ", or set " + from.variable
		}
		value, err = s.hidden(ctx, from.flag, prompt)
	}
	s.app.secrets.learn(value)
	return value, err
}

// line asks for a line and trims it. At the end of the input it returns errAborted, and without a
// terminal the name of the flag that answers.
func (s *setup) line(ctx context.Context, flag, prompt string) (string, error) {
	return s.ask(ctx, flag, prompt, func() (string, error) { return s.in.ReadString('\n') })
}

// hidden is line, but the terminal does not show the answer.
func (s *setup) hidden(ctx context.Context, flag, prompt string) (string, error) {
	return s.ask(ctx, flag, prompt, func() (string, error) {
		text, err := term.ReadPassword(int(s.tty.Fd()))
		fmt.Fprintln(s.app.out) // the Enter key was not echoed either
		return string(text), err
	})
}

// ask runs read until ctx ends. A read cannot be interrupted: its goroutine ends with the program.
func (s *setup) ask(ctx context.Context, flag, prompt string, read func() (string, error)) (string, error) {
	if s.tty == nil {
		return "", usage(fmt.Errorf("standard input is not a terminal, so setup cannot ask: pass %s", flag))
	}
	fmt.Fprint(s.app.out, prompt)
	before, err := term.GetState(int(s.tty.Fd()))
	if err != nil {
		return "", err
	}
	text, answered := "", make(chan error, 1)
	go func() {
		var err error
		text, err = read()
		answered <- err
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(s.app.out)
		return "", errors.Join(context.Cause(ctx), term.Restore(int(s.tty.Fd()), before))
	case err := <-answered:
		if errors.Is(err, io.EOF) {
			return "", errAborted
		}
		return strings.TrimSpace(text), err
	}
}

// option is one answer among several.
type option struct{ name, help string }

// choose asks for one of the choices, by number or name, until the answer is valid.
func (s *setup) choose(ctx context.Context, flag, question string, choices []option) (string, error) {
	prompt := "\n" + question + "\n"
	for i, c := range choices {
		prompt += fmt.Sprintf("  %d  %-10s %s\n", i+1, c.name, c.help)
	}
	prompt += "> "
	for {
		text, err := s.line(ctx, flag, prompt)
		if err != nil {
			return "", err
		}
		for i, c := range choices {
			if text == strconv.Itoa(i+1) || strings.EqualFold(text, c.name) {
				return c.name, nil
			}
		}
		prompt = fmt.Sprintf("Enter a number from 1 to %d: ", len(choices))
	}
}

const settingsHead = "# Written by `cairn setup`. All settings and their defaults: docs/configuration.md.\n" +
	"# Edits apply while the bot runs; `cairn config check` finds mistakes.\n\n"

// write writes the secrets, and then the settings that name them.
func (s *setup) write(target string) error {
	if s.app.data != "" {
		dir, err := filepath.Abs(s.app.data)
		if err != nil {
			return err
		}
		s.file.set("data_dir", dir)
	}
	text := bytes.NewBufferString(settingsHead)
	enc := toml.NewEncoder(text)
	enc.Indent = ""
	if err := enc.Encode(s.file); err != nil {
		return err
	}
	folder := filepath.Join(filepath.Dir(target), secretsFolder)
	if len(s.secrets) > 0 {
		if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	for _, secret := range s.secrets {
		if err := s.replace(filepath.Join(folder, secret.name), secret.value+"\n"); err != nil {
			return err
		}
	}
	return s.replace(target, text.String())
}

// replace writes a file that only its owner may read. An existing one is kept under a name with the time.
func (s *setup) replace(path, text string) error {
	if _, err := os.Lstat(path); err == nil {
		before := path + time.Now().Format(".20060102T150405.000")
		if err := os.Rename(path, before); err != nil {
			return err
		}
		s.say("Kept: %s", before)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	s.say("Written: %s", path)
	return nil
}
