// The server of embeddings.

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

// EmbeddingServer returns the server of embeddings, and its model; ok is false if there is none.
func EmbeddingServer(s *Settings) (t Target, ok bool, err error) {
	e := s.Embeddings
	if e.BaseURL == "" {
		return t, false, nil
	}
	t = Target{Server: Server{BaseURL: e.BaseURL, KeyName: "api_key under [embeddings]"}, Model: e.Model}
	t.Key, _, err = s.Resolve(e.APIKey)
	if err != nil {
		return t, true, fmt.Errorf("api_key under [embeddings]: %w", err)
	}
	if at, _ := url.Parse(e.BaseURL); t.Key == "" && at != nil && at.Host == openAIHost {
		t.Key = fromEnvironment(OpenAI.Key)
		t.KeyName = OpenAI.Key
	}
	return t, true, nil
}

// checkEmbeddings reports a server without a model, and a model without a server.
func (c *checker) checkEmbeddings() {
	e := c.s.Embeddings
	c.checkKey("embeddings.api_key", e.APIKey, "")
	switch {
	case e.BaseURL != "" && e.Model == "":
		c.report.problem("embeddings.model", `model: is missing; name one that the server has, e.g. "embeddinggemma" in Ollama, "text-embedding-3-small" at OpenAI`)
	case e.BaseURL == "" && e.Model != "":
		c.report.problem("embeddings.base_url", fmt.Sprintf(`base_url: is missing; as %q or %q`, OpenAIURL, "http://localhost:11434/v1"))
	}
}
