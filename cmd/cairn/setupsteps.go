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
	"time"

	"cairn/channel"
	"cairn/config"
	"cairn/discord"
	"cairn/slack"
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
	again := false
	return s.retry(ctx, func() (err error) {
		model := s.model
		if model == "" {
			if model, err = s.ask.choose(ctx, "--model", "Which model should answer?", modelChoices); err != nil {
				return err
			}
		}
		if model == otherServer {
			if model, err = s.ask.line(ctx, "--model with the server's address", "The server's address ["+usualServer+"]: "); err != nil {
				return err
			}
			model = cmp.Or(model, usualServer)
		}
		if model == "none" {
			return nil
		}
		err = s.checkModel(ctx, model, again)
		again = true
		return err
	}, &s.model, &s.modelName, &s.modelKey.flag)
}

// checkModel determines the server's address and key, and sends the model one request. again: no key
// comes from the environment.
func (s *setup) checkModel(ctx context.Context, model string, again bool) (err error) {
	at, prompt, variable := config.LLM{BaseURL: model}, "The key (hidden; Enter: none): ", ""
	switch model {
	case "openai":
		at.BaseURL, prompt, variable = config.OpenAIURL, "The key (hidden): ", config.OpenAI.Key
	case "anthropic":
		at.BaseURL, prompt, variable = config.AnthropicURL, "The key (hidden): ", config.Anthropic.Key
	}
	if u, err := url.Parse(at.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return usage(errors.New(`the model must be openai, anthropic, none, or an address like "` + usualServer + `"; the key comes with --model-key`))
	}
	key, from := "", s.modelKey
	if !again {
		from.variable = variable
	}
	if from.flag != "none" && (variable != "" || from.flag != "" || s.ask != nil) {
		if key, err = s.secret(ctx, from, "--model-key", prompt); err != nil {
			return err
		}
	}
	if key == "" && variable != "" {
		return usage(errors.New("a key is required"))
	}
	return s.tryModel(ctx, at, key)
}

// tryModel asks which model to use unless a flag names it, and sends it one request.
func (s *setup) tryModel(ctx context.Context, at config.LLM, key string) (err error) {
	at.Model = s.modelName
	agent, model, err := s.agentOf(at, key)
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
		if at.Model = model.Name(); s.ask != nil {
			var names []string
			for _, o := range offered[:min(len(offered), modelsShown)] {
				names = append(names, o.ID)
			}
			name, err := s.ask.line(ctx, "", fmt.Sprintf("The server offers %s.\nWhich model? [%s]: ", strings.Join(names, ", "), at.Model))
			if err != nil {
				return err
			}
			at.Model = cmp.Or(name, at.Model)
		}
		if agent, model, err = s.agentOf(at, key); err != nil {
			return err
		}
	}
	start := time.Now()
	window := model.Window(limited)
	probe, err := agent.Probe(limited, false)
	if err != nil {
		return inSetup(explained(at.Model, err))
	}
	s.say("✓ %s answered in %s, %s; window of %d tokens", at.Model, time.Since(start).Round(time.Millisecond), withTools[probe.Tools], window.Tokens)
	if key != "" {
		at.APIKey = s.keep("model-key", key)
	}
	table := settingsTable{"base_url": at.BaseURL, "model": at.Model}
	table.set("api_key", at.APIKey)
	s.file["llm"] = table
	return nil
}

// setupWords name what setup asks for where an error names the setting.
var setupWords = strings.NewReplacer("api_key under [llm]", "the key (--model-key)", "base_url", "the address (--model)", "set model to", "choose with --model-name")

func inSetup(err error) error { return errors.New(setupWords.Replace(err.Error())) }

// modelsShown is how many models a question lists.
const modelsShown = 15

// agentOf builds the agent and the model that the written settings will have.
func (s *setup) agentOf(at config.LLM, key string) (agent channel.Agent, model *located, err error) {
	settings := config.Default()
	settings.LLM.BaseURL, settings.LLM.Model, settings.LLM.APIKey = at.BaseURL, at.Model, key
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
		if s.platform, err = s.ask.choose(ctx, "--platform", "Where will people talk to the bot?", platformChoices); err != nil {
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
	if s.discordToken.flag == "" && s.ask != nil {
		s.say("\n1. On https://discord.com/developers/applications press New Application\n   and name the bot.\n" +
			"2. Under Bot switch on Message Content Intent, and save.\n" +
			"3. There press Reset Token, and copy the token.")
	}
	var app discord.Application
	token, err := s.token(ctx, s.discordToken, "--discord-token", "The token (hidden): ", func(ctx context.Context, token string) (err error) {
		app, err = s.discordApplication(ctx, token)
		return err
	})
	if err != nil {
		return err
	}
	s.say("✓ The token works: the bot is %s.", app.Bot)
	for app.NoContent && !s.withoutContent {
		err := fmt.Errorf("%w; or use --without-message-content", discord.ErrContentIntent)
		if s.ask == nil {
			return err
		}
		s.say("✗ %v", err)
		if _, err := s.ask.line(ctx, "", "Press Enter when it is on: "); err != nil {
			return err
		}
		if now, err := s.discordApplication(ctx, token); err != nil {
			s.say("✗ %v", err)
		} else {
			app = now
		}
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

// discordApplication asks Discord which application a token belongs to.
func (s *setup) discordApplication(ctx context.Context, token string) (discord.Application, error) {
	d, err := discord.New(discord.Options{Token: token, APIBase: s.apiBase, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return discord.Application{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	return d.Application(ctx)
}

// token reads a token and checks it with its platform; at a terminal it asks again until it is good.
func (s *setup) token(ctx context.Context, from source, flag, prompt string, check func(ctx context.Context, token string) error) (token string, err error) {
	err = s.retry(ctx, func() (err error) {
		if token, err = s.secret(ctx, from, flag, prompt); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, serverTimeout)
		defer cancel()
		return check(ctx, token)
	}, &from.flag, &from.variable)
	return token, err
}

func (s *setup) setUpSlack(ctx context.Context) error {
	if s.slackBot.flag == "" && s.ask != nil {
		s.say("\n1. Create the app with this link: choose the workspace and confirm.\n\n  %s\n\n"+
			"2. Under OAuth & Permissions press Install to Workspace, and copy the Bot\n   User OAuth Token.", slack.CreateURL())
	}
	var name, workspace string
	bot, err := s.token(ctx, s.slackBot, "--slack-bot-token", "The token xoxb-… (hidden): ", func(ctx context.Context, token string) (err error) {
		name, workspace, err = slack.CheckBotToken(ctx, token, s.apiBase)
		return err
	})
	if err != nil {
		return err
	}
	s.say("✓ The token works: the app is %s in the workspace %s.", name, workspace)
	if s.slackApp.flag == "" && s.ask != nil {
		s.say("3. Under Basic Information, App-Level Tokens, press Generate Token and Scopes,\n   add connections:write, and copy the token.")
	}
	app, err := s.token(ctx, s.slackApp, "--slack-app-token", "The token xapp-… (hidden): ", func(ctx context.Context, token string) error {
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
