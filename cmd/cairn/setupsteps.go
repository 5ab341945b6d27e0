// The steps of cairn setup: the model; the platform and its tokens.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"cairn/channel"
	"cairn/config"
	"cairn/connector/discord"
	"cairn/connector/slack"
)

// otherServer is the choice that asks for an address, and usualServer is the address that it offers.
const (
	otherServer = "server"
	usualServer = "http://localhost:11434/v1"
)

var modelChoices = []option{
	{"openai", "OpenAI, with a key"},
	{"anthropic", "Anthropic, with a key"},
	{otherServer, "another server, e.g. Ollama, llama.cpp, vLLM, OpenRouter"},
	{"none", "no model: the bot stores, summarizes and quotes"},
}

// chooseModel asks which model to use, and tests it.
func (s *setup) chooseModel(ctx context.Context) error {
	return s.retry(ctx, func() (err error) {
		model := s.model
		if model == "" || s.again {
			if model, err = s.choose(ctx, "--model", "Which model should answer?", modelChoices); err != nil {
				return err
			}
		}
		if model == otherServer {
			if model, err = s.line(ctx, "--model with the server's address", "The server's address ["+usualServer+"]: "); err != nil {
				return err
			}
			model = cmp.Or(model, usualServer)
		}
		if model == "none" {
			return nil
		}
		at, err := s.modelServer(ctx, model)
		if err != nil {
			return err
		}
		return s.tryModel(ctx, at)
	})
}

// modelServer determines the server's address and key.
func (s *setup) modelServer(ctx context.Context, model string) (at config.LLM, err error) {
	at, prompt, from := config.LLM{BaseURL: model}, "The key (hidden; Enter: none): ", s.modelKey
	switch model {
	case "openai":
		at.BaseURL, prompt, from.variable = config.OpenAIURL, "The key (hidden): ", config.OpenAI.Key
	case "anthropic":
		at.BaseURL, prompt, from.variable = config.AnthropicURL, "The key (hidden): ", config.Anthropic.Key
	}
	if u, err := url.Parse(at.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return at, usage(errors.New(`the model must be openai, anthropic, none, or an address like "` + usualServer + `"`))
	}
	required := from.variable != ""
	if from.given != "none" && (required || from.given != "" || s.tty != nil) {
		if at.APIKey, err = s.secret(ctx, from, prompt); err != nil {
			return at, err
		}
	}
	if at.APIKey == "" && required {
		return at, usage(errors.New("a key is required"))
	}
	return at, nil
}

// tryModel asks which model to use unless a flag names it, and sends it one request.
func (s *setup) tryModel(ctx context.Context, at config.LLM) error {
	if !s.again {
		at.Model = s.modelName
	}
	agent, model, err := agentOf(at)
	if err != nil {
		return err
	}
	s.say("Asking %s …", config.ShownAddress(at.BaseURL))
	limited, cancel := context.WithTimeout(ctx, modelTimeout)
	defer cancel()
	if at.Model == "" {
		offered, err := model.Models(limited)
		if err != nil {
			return inSetup(explained(config.ShownAddress(at.BaseURL), err))
		}
		model.Window(limited) // chooses a model
		if at.Model = model.Name(); s.tty != nil {
			var names []string
			for _, o := range offered[:min(len(offered), modelsShown)] {
				names = append(names, o.ID)
			}
			name, err := s.line(ctx, "", fmt.Sprintf("The server offers %s.\nWhich model? [%s]: ", strings.Join(names, ", "), at.Model))
			if err != nil {
				return err
			}
			at.Model = cmp.Or(name, at.Model)
		}
		if agent, _, err = agentOf(at); err != nil {
			return err
		}
	}
	fact, err := answered(limited, agent, false)
	if err != nil {
		return inSetup(explained(at.Model, err))
	}
	s.say("✓ %s %s", at.Model, fact)
	table := settingsTable{"base_url": at.BaseURL, "model": at.Model}
	if at.APIKey != "" {
		table["api_key"] = s.keep("model-key", at.APIKey)
	}
	s.file["llm"] = table
	return nil
}

// setupWords name what setup asks for where an error names the setting.
var setupWords = strings.NewReplacer("api_key under [llm]", "the key (--model-key)", "base_url", "the address (--model)", "set model to", "choose with --model-name")

func inSetup(err error) error { return errors.New(setupWords.Replace(err.Error())) }

// modelsShown is how many models a question lists.
const modelsShown = 15

// agentOf builds the agent and the model that the written settings will have.
func agentOf(at config.LLM) (agent channel.Agent, model *located, err error) {
	settings := config.Default()
	settings.LLM = at
	if agent, err = newModelSet(slog.New(slog.DiscardHandler)).agent(&settings, settings.Agents[0]); err != nil {
		return agent, nil, err
	}
	model, ok := agent.Model.(*located)
	if !ok {
		err = fmt.Errorf("there is no model at %s", config.ShownAddress(at.BaseURL))
	}
	return agent, model, err
}

var platformChoices = []option{
	{"discord", "a Discord server"},
	{"slack", "a Slack workspace"},
	{"terminal", "only here, in the terminal"},
}

func (s *setup) choosePlatform(ctx context.Context) (err error) {
	if s.platform == "" {
		if s.platform, err = s.choose(ctx, "--platform", "Where will people talk to the bot?", platformChoices); err != nil {
			return err
		}
	}
	switch s.platform {
	case "discord":
		return s.setUpDiscord(ctx)
	case "slack":
		return s.setUpSlack(ctx)
	case "terminal":
		s.hello = "Write: My name is Ada, and I prefer tea."
		return nil
	}
	return usage(fmt.Errorf("--platform %q: must be discord, slack or terminal", s.platform))
}

func (s *setup) setUpDiscord(ctx context.Context) error {
	if s.discordToken.given == "" && s.tty != nil {
		s.say("\n1. On https://discord.com/developers/applications press New Application\n   and name the bot.\n" +
			"2. Under Bot switch on Message Content Intent, and save.\n" +
			"3. There press Reset Token, and copy the token.")
	}
	var app discord.Application
	look := func(ctx context.Context, token string) error {
		d, err := discord.New(discord.Options{Token: token, APIBase: s.apiBase, Log: slog.New(slog.DiscardHandler)})
		if err == nil {
			app, err = d.Application(ctx)
		}
		return err
	}
	token, err := s.token(ctx, s.discordToken, "The token (hidden): ", look)
	if err != nil {
		return err
	}
	s.say("✓ The token works: the bot is %s.", app.Bot)
	err = s.retry(ctx, func() error {
		if s.again {
			if _, err := s.line(ctx, "", "Press Enter when it is on: "); err != nil {
				return err
			}
			limited, cancel := context.WithTimeout(ctx, serverTimeout)
			defer cancel()
			if err := look(limited, token); err != nil {
				return err
			}
		}
		if app.NoContent && !s.withoutContent {
			return fmt.Errorf("%w; or use --without-message-content", discord.ErrContentIntent)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.say("Invite it to a server with this link:\n\n  %s\n", discord.InviteURL(app.ID))
	table := settingsTable{"token": s.keep("discord-token", token)}
	table.set("api_base", s.apiBase)
	if s.withoutContent {
		table["message_content"] = false
	}
	s.file["discord"] = table
	s.hello = fmt.Sprintf("In a Discord channel that it can see, write: @%s hello", app.Bot)
	return nil
}

// token reads a token and checks it with its platform; at a terminal it asks again until it is good.
func (s *setup) token(ctx context.Context, from source, prompt string, check func(ctx context.Context, token string) error) (token string, err error) {
	err = s.retry(ctx, func() (err error) {
		if token, err = s.secret(ctx, from, prompt); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, serverTimeout)
		defer cancel()
		return check(ctx, token)
	})
	return token, err
}

func (s *setup) setUpSlack(ctx context.Context) error {
	if s.slackBot.given == "" && s.tty != nil {
		s.say("\n1. Create the app with this link: choose the workspace and confirm.\n\n  %s\n\n"+
			"2. Under OAuth & Permissions press Install to Workspace, and copy the Bot\n   User OAuth Token.", slack.CreateURL())
	}
	var name, workspace string
	bot, err := s.token(ctx, s.slackBot, "The token xoxb-… (hidden): ", func(ctx context.Context, token string) (err error) {
		name, workspace, err = slack.CheckBotToken(ctx, token, s.apiBase)
		return err
	})
	if err != nil {
		return err
	}
	s.say("✓ The token works: the app is %s in the workspace %s.", name, workspace)
	if s.slackApp.given == "" && s.tty != nil {
		s.say("3. Under Basic Information, App-Level Tokens, press Generate Token and Scopes,\n   add connections:write, and copy the token.")
	}
	app, err := s.token(ctx, s.slackApp, "The token xapp-… (hidden): ", func(ctx context.Context, token string) error {
		return slack.CheckAppToken(ctx, token, s.apiBase)
	})
	if err != nil {
		return err
	}
	s.say("✓ The app-level token works.")
	table := settingsTable{"bot_token": s.keep("slack-bot-token", bot), "app_token": s.keep("slack-app-token", app)}
	table.set("api_base", s.apiBase)
	s.file["slack"] = table
	s.hello = fmt.Sprintf("In a Slack channel, write: /invite @%s, and then: @%s hello", name, name)
	return nil
}

const secretsFolder = "secrets"

// settingsTable is the content of the written file, or one of its tables.
type settingsTable map[string]any

func (t settingsTable) set(key, value string) {
	if value != "" {
		t[key] = value
	}
}

// secretFile is a secret to write, and the name of its file.
type secretFile struct{ name, value string }

// keep adds a secret to the files to write, and returns the reference for the settings.
func (s *setup) keep(name, value string) string {
	s.secrets = append(s.secrets, secretFile{name, value})
	return "file:" + secretsFolder + "/" + name
}
