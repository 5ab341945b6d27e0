// The questions of cairn setup about the model: its provider, its server's address, the key, its name.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"cairn/channel"
	"cairn/compactor"
	"cairn/config"
	"cairn/llm"
)

// The choices that are not a provider: a server with an address, usualServer if none is entered; and no model.
const (
	otherServer = "server"
	noModel     = "none"
	usualServer = "http://localhost:11434/v1"
)

var modelChoices = []option{
	{"openai", "OpenAI, with a key"},
	{"anthropic", "Anthropic, with a key"},
	{otherServer, "another server, e.g. Ollama, llama.cpp, vLLM, OpenRouter"},
	{noModel, "no model: the bot stores, summarizes and quotes"},
}

// chooseModel asks whose model to use.
func (s *setup) chooseModel(ctx context.Context) (err error) {
	s.kind = s.model
	s.address = ""
	if s.kind == "" || s.again {
		s.kind, err = s.choose(ctx, "--model", "Which model should answer?", modelChoices)
		if err != nil {
			return err
		}
	}
	s.at = config.LLM{}
	switch {
	case s.kind == "openai":
		s.at.BaseURL = config.OpenAIURL
	case s.kind == "anthropic":
		s.at.BaseURL = config.AnthropicURL
	case s.kind == noModel, s.kind == otherServer:
	case strings.ContainsAny(s.kind, ":/.") || s.kind == "localhost":
		s.kind, s.address = otherServer, s.kind
	default:
		return usage(errors.New(`the model must be openai, anthropic, none, or an address like "` + usualServer + `"`))
	}
	return nil
}

// enterAddress asks for the address of the model's server, and finds the interface there.
func (s *setup) enterAddress(ctx context.Context) (err error) {
	typed := s.address
	if typed == "" || s.again {
		typed, err = s.line(ctx, "--model with the server's address", "The server's address ["+usualServer+"]: ")
		if err != nil {
			return err
		}
	}
	typed = cmp.Or(typed, usualServer)
	s.at.BaseURL, err = s.findServer(ctx, typed)
	if err != nil {
		return err
	}
	if s.at.BaseURL != typed {
		s.say("The address is %s.", s.at.BaseURL)
	}
	return nil
}

// enterKey asks for the key, and lists the models with it.
func (s *setup) enterKey(ctx context.Context) (err error) {
	prompt := "The key (hidden): "
	from := s.modelKey
	switch s.kind {
	case "openai":
		from.variable = config.OpenAI.Key
	case "anthropic":
		from.variable = config.Anthropic.Key
	default:
		prompt = "The key (hidden; Enter: none): "
	}
	required := from.variable != ""
	s.at.APIKey = ""
	if (from.given != "none" || s.again) && (required || from.given != "" || s.tty != nil) {
		s.at.APIKey, err = s.secret(ctx, from, prompt)
		if err != nil {
			return err
		}
	}
	if s.at.APIKey == "" && required {
		return usage(errors.New("a key is required"))
	}
	s.say("Asking %s …", config.MaskAddress(s.at.BaseURL))
	s.offered, err = listed(ctx, s.at)
	if err == nil || s.modelName != "" && llm.KindOf(err) != llm.KindAuth && answeredOverHTTP(err) { // some servers list nothing
		return nil
	}
	return s.modelError(err)
}

// listed returns the models that a server lists.
func listed(ctx context.Context, at config.LLM) ([]llm.Offered, error) {
	at.Model = ""
	_, model, err := agentOf(at)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	return model.Models(ctx)
}

// tryAddress asks for the models at an address, without a key: it may be the wrong server.
func tryAddress(ctx context.Context, address string) error {
	settings := config.Default()
	settings.LLM = config.LLM{BaseURL: address}
	target, _, err := settings.Target(settings.Agents[0])
	if err != nil {
		return err
	}
	target.Key = ""
	model, err := newModelSet(slog.New(slog.DiscardHandler)).model(target, 0, compactor.AutoTTL)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, addressTimeout)
	defer cancel()
	_, err = model.Models(ctx)
	return err
}

// chooseName asks which model to use unless a flag names it, and sends it one request.
func (s *setup) chooseName(ctx context.Context) (err error) {
	s.at.Model = ""
	if !s.again {
		s.at.Model = s.modelName
	}
	if s.at.Model == "" {
		s.at.Model, err = s.nameOfModel(ctx)
		if err != nil {
			return err
		}
	}
	agent, _, err := agentOf(s.at)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, modelTimeout)
	defer cancel()
	fact, err := answered(limited, agent, false)
	if llm.KindOf(err) == llm.KindAuth && s.tty != nil {
		return fmt.Errorf("%w; \"back\" returns to the key", s.modelError(err))
	}
	if err != nil {
		return s.modelError(err)
	}
	s.say("✓ %s %s", s.at.Model, fact)
	return nil
}

// maxModels is how many models a question lists.
const maxModels = 15

// nameOfModel asks for one of the models that the server offers; without a terminal it takes the one that the bot would choose.
func (s *setup) nameOfModel(ctx context.Context) (string, error) {
	_, model, err := agentOf(s.at)
	if err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeout(ctx, listTimeout)
	model.Window(limited) // chooses a model
	cancel()
	usual := model.Name()
	if s.tty == nil {
		return usual, nil
	}
	var names []string
	for _, o := range s.offered[:min(len(s.offered), maxModels)] {
		names = append(names, o.ID)
	}
	if more := len(s.offered) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	name, err := s.line(ctx, "--model-name", fmt.Sprintf("The server offers %s.\nWhich model? [%s]: ", cmp.Or(strings.Join(names, ", "), "no list of models"), usual))
	return cmp.Or(name, usual), err
}

// agentOf builds the agent and the model that the written settings will have.
func agentOf(at config.LLM) (agent channel.Agent, model *located, err error) {
	settings := config.Default()
	settings.LLM = at
	agent, err = newModelSet(slog.New(slog.DiscardHandler)).agent(&settings, settings.Agents[0])
	if err != nil {
		return agent, nil, err
	}
	model, ok := agent.Model.(*located)
	if !ok {
		err = fmt.Errorf("there is no model at %s", config.MaskAddress(at.BaseURL))
	}
	return agent, model, err
}
