// The servers beside those of models: of embeddings, and for transcription.

package config

import (
	"fmt"
	"net/url"
)

// Embeddings is [embeddings]: the server that makes vectors of texts, for search by meaning.
type Embeddings struct {
	BaseURL      string `toml:"base_url" server:"http://localhost:11434/v1"` // empty: off
	Model        string `toml:"model"`
	APIKey       string `toml:"api_key"` // "file:PATH", "env:NAME", or the key itself; empty: for OpenAI the environment's, else none
	Dimensions   int    `toml:"dimensions" range:"16 to 512"`
	TokensPerDay int64  `toml:"tokens_per_day" range:"0 to 1000000000"` // 0: no limit
}

// Transcription is [transcription]: the server that transcribes voice messages.
type Transcription struct {
	BaseURL    string `toml:"base_url" server:"http://localhost:8000/v1"` // empty: off
	Model      string `toml:"model"`
	APIKey     string `toml:"api_key"` // as in Embeddings
	MaxSeconds int    `toml:"max_seconds" range:"1 to 7200"`
	Overheard  bool   `toml:"overheard"`
}

// EmbeddingServer returns the server of embeddings, and its model; ok is false if there is none.
func EmbeddingServer(s *Settings) (t Target, ok bool, err error) {
	e := s.Embeddings
	return s.sideServer("embeddings", e.BaseURL, e.Model, e.APIKey)
}

// TranscriptionServer returns the server for transcription, and its model; ok is false if there is none.
func TranscriptionServer(s *Settings) (t Target, ok bool, err error) {
	v := s.Transcription
	return s.sideServer("transcription", v.BaseURL, v.Model, v.APIKey)
}

// sideServer returns the server of a table that has its own.
func (s *Settings) sideServer(table, address, model, key string) (t Target, ok bool, err error) {
	if address == "" {
		return t, false, nil
	}
	keyName := "api_key under [" + table + "]"
	t = Target{Server: Server{BaseURL: address, KeyName: keyName}, Model: model}
	t.Key, _, err = s.Resolve(key)
	if err != nil {
		return t, true, fmt.Errorf("%s: %w", keyName, err)
	}
	if at, _ := url.Parse(address); t.Key == "" && at != nil && at.Host == openAIHost {
		t.Key = fromEnvironment(OpenAI.Key)
		t.KeyName = OpenAI.Key
	}
	return t, true, nil
}

// checkSideServers reports a server without a model, and a model without a server.
func (c *checker) checkSideServers() {
	e := c.s.Embeddings
	c.checkSideServer("embeddings", e.BaseURL, e.Model, e.APIKey, `"embeddinggemma" in Ollama, "text-embedding-3-small" at OpenAI`)
	v := c.s.Transcription
	c.checkSideServer("transcription", v.BaseURL, v.Model, v.APIKey, `"openai/whisper-large-v3-turbo" in vLLM, "gpt-4o-mini-transcribe" at OpenAI`)
}

func (c *checker) checkSideServer(table, address, model, key, examples string) {
	c.checkKey(table+".api_key", key, "")
	switch {
	case address != "" && model == "":
		c.report.problem(table+".model", "model: is missing; name one that the server has, e.g. "+examples)
	case address == "" && model != "":
		c.report.problem(table+".base_url", fmt.Sprintf(`base_url: is missing; as %q or %q`, OpenAIURL, "http://localhost:11434/v1"))
	}
}
