// cairn setup: the model.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"cairn/channel"
	"cairn/config"
	"cairn/llm"
)

// otherServer is the choice that asks for an address, and usualServer is the address that it offers.
const (
	otherServer = "server"
	usualServer = "http://localhost:11434/v1"
)

var modelChoices = []choice{
	{"openai", "OpenAI, with a key"},
	{"anthropic", "Anthropic, with a key"},
	{otherServer, "another server, e.g. Ollama, llama.cpp, vLLM, OpenRouter"},
	{"none", "no model: the bot stores, summarizes and quotes"},
}

// chooseModel asks which model to use, and tests it.
func (s *setup) chooseModel(ctx context.Context) error {
	return s.retry(ctx, func(ctx context.Context) (err error) {
		if s.model == "" {
			if s.model, err = s.ask.choose(ctx, "Which model should answer?", modelChoices); err != nil {
				return err
			}
		}
		if s.model == otherServer && s.ask != nil {
			usual := cmp.Or(s.address, usualServer)
			if s.model, err = s.ask.line(ctx, "The server's address ["+usual+"]: "); err != nil {
				return err
			}
			s.model = cmp.Or(s.model, usual)
		}
		if s.model == "none" {
			for _, v := range []string{config.OpenAI.Key, config.OpenAI.URL, config.Anthropic.Key, config.Anthropic.URL} {
				if os.Getenv(v) != "" {
					s.say("Note: %s is set in the environment, so the bot uses a model anyway.", v)
				}
			}
			return nil
		}
		return s.checkedModel(ctx)
	}, func() {
		if s.model == "openai" || s.model == "anthropic" {
			s.model = ""
		} else {
			s.model = otherServer // asks for the address again
			s.say("For another choice, type openai, anthropic or none.")
		}
		s.modelName, s.modelKey, s.askKey = "", source{}, true
	})
}

// checkedModel determines the server's address and key, and sends the model one request.
func (s *setup) checkedModel(ctx context.Context) (err error) {
	var at config.LLM
	variable := ""
	switch s.model {
	case "openai":
		at.BaseURL, variable = config.OpenAIURL, config.OpenAI.Key
	case "anthropic":
		at.BaseURL, variable = config.AnthropicURL, config.Anthropic.Key
	case otherServer:
		return usage(errors.New("--model server: pass the server's address instead"))
	default:
		at.BaseURL = s.model
	}
	if u, err := url.Parse(at.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return usage(errors.New(`the model must be openai, anthropic, none, or an address like "` + usualServer + `"`))
	} else if u.User != nil || u.RawQuery != "" {
		return usage(errors.New("the address must not contain a key: pass it with --model-key"))
	}
	if variable == "" {
		s.address = at.BaseURL
	}
	key := ""
	if s.modelKey.flag != "none" {
		prompt := "The key (hidden): "
		if variable == "" {
			prompt = "The key (hidden; Enter: none): "
		}
		from := s.modelKey
		if !s.askKey {
			from.variable = variable
		}
		if key, err = s.secret(ctx, from, prompt); err != nil {
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
			return explained(config.ShownAddress(at.BaseURL), err)
		}
		model.Window(limited) // chooses a model
		if at.Model = model.Name(); s.ask != nil {
			if at.Model, err = s.modelAmong(ctx, offered, at.Model); err != nil {
				return err
			}
		}
		if agent, model, err = s.agentOf(at, key); err != nil {
			return err
		}
	}
	start := time.Now()
	window := model.Window(limited)
	probe, err := agent.Probe(limited, false)
	if err != nil {
		return explained(at.Model, err)
	}
	s.say("✓ %s answered in %s, %s; window of %d tokens", at.Model, time.Since(start).Round(time.Millisecond), withTools(probe.Tools), window.Tokens)
	if key != "" {
		at.APIKey = s.keep("model-key", key)
	}
	table := settingsTable{"base_url": at.BaseURL, "model": at.Model}
	table.set("api_key", at.APIKey)
	s.file["llm"] = table
	return nil
}

// modelsShown is how many models a question lists.
const modelsShown = 15

func (s *setup) modelAmong(ctx context.Context, offered []llm.Offered, usual string) (string, error) {
	var names []string
	for _, o := range offered[:min(len(offered), modelsShown)] {
		names = append(names, o.ID)
	}
	if more := len(offered) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	s.say("The server offers %s.", strings.Join(names, ", "))
	name, err := s.ask.line(ctx, "Which model? ["+usual+"]: ")
	return cmp.Or(name, usual), err
}

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
