package main

import (
	"fmt"
	"os"

	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/llm/openai"
)

// modelServer is a real model, as flags name it.
type modelServer struct {
	model    string
	provider string
	baseURL  string
	keyEnv   string // the environment variable with the key; "": that of the provider, for its own address
	window   int    // in tokens; 0: as the server says
}

// The providers that --provider names, with the variable that has the key for their own address.
const (
	providerOpenAI    = "openai"
	providerAnthropic = "anthropic"
)

var keyVariables = map[string]string{providerOpenAI: "OPENAI_API_KEY", providerAnthropic: "ANTHROPIC_API_KEY"}

// addTo adds the flags to a benchmark.
func (m *modelServer) addTo(b *benchmark, usage string) {
	b.Flags().StringVar(&m.model, "model", "", usage)
	b.Flags().StringVar(&m.provider, "provider", providerOpenAI, "`NAME` of the server's interface: openai or anthropic")
	b.Flags().StringVar(&m.baseURL, "base-url", "", "`URL` of the server, up to and including /v1; the provider's own if empty")
	b.Flags().StringVar(&m.keyEnv, "key-env", "", "`VARIABLE` with the key for --base-url; none is sent if empty")
	b.integer(&m.window, "window", 0, 0, 10_000_000, "`N` tokens of the model's window; 0: as its server says")
	b.checks = append(b.checks, func() error { return wrongUse(b.Command, m.check()) })
}

func (m *modelServer) check() error {
	if keyVariables[m.provider] == "" {
		return fmt.Errorf("--provider %s: must be openai or anthropic", m.provider)
	}
	if m.keyEnv != "" && os.Getenv(m.keyEnv) == "" {
		return fmt.Errorf("--key-env %s: the variable is empty", m.keyEnv)
	}
	return nil
}

// learningModel is a model behind a server, which keeps what is learned about it.
type learningModel interface {
	llm.Model
	llm.Learner
}

// connect returns the model. The key of a provider goes to no other address.
func (m modelServer) connect() (learningModel, error) {
	key := os.Getenv(m.keyEnv)
	if m.keyEnv == "" && m.baseURL == "" {
		key = os.Getenv(keyVariables[m.provider])
	}
	at := openai.Options{BaseURL: m.baseURL, APIKey: key, Model: m.model, Window: m.window}
	if m.provider == providerAnthropic {
		return anthropic.New(at)
	}
	return openai.New(at)
}
