// cairn setup: the model.

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
	return s.retry(ctx, func(first bool) (err error) {
		model, from := s.model, s.modelKey
		if !first {
			model, s.modelName, from = "", "", source{}
		}
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
		return s.checkedModel(ctx, model, from, first)
	})
}

// checkedModel determines the server's address and key, and sends the model one request. first:
// a key may come from the environment.
func (s *setup) checkedModel(ctx context.Context, model string, from source, first bool) (err error) {
	at := config.LLM{BaseURL: model}
	prompt, variable := "The key (hidden; Enter: none): ", ""
	switch model {
	case "openai":
		at.BaseURL, prompt, variable = config.OpenAIURL, "The key (hidden): ", config.OpenAI.Key
	case "anthropic":
		at.BaseURL, prompt, variable = config.AnthropicURL, "The key (hidden): ", config.Anthropic.Key
	}
	if u, err := url.Parse(at.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return usage(errors.New(`the model must be openai, anthropic, none, or an address like "` + usualServer + `"; the key comes with --model-key`))
	}
	if first {
		from.variable = variable
	}
	key := ""
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
	s.say("✓ %s answered in %s, %s; window of %d tokens", at.Model, time.Since(start).Round(time.Millisecond), withTools(probe.Tools), window.Tokens)
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
