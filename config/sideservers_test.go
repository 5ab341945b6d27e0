package config

import (
	"testing"

	"cairn/testkit/check"
)

func TestEmbeddingServer(t *testing.T) {
	environment(t, map[string]string{"OPENAI_API_KEY": "o-key", "OTHER": "other-key"})
	for settings, want := range map[string]string{
		"": "offline",
		"[embeddings]\nbase_url = \"http://localhost:11434/v1\"\nmodel = \"m\"":                                `auto http://localhost:11434/v1 "m" key "" of api_key under [embeddings]`,
		"[embeddings]\nbase_url = \"http://localhost:11434/v1\"\nmodel = \"m\"\napi_key = \"env:OTHER\"":       `auto http://localhost:11434/v1 "m" key "other-key" of api_key under [embeddings]`,
		"[embeddings]\nbase_url = \"https://api.openai.com/v1\"\nmodel = \"text-embedding-3-small\"":           `auto https://api.openai.com/v1 "text-embedding-3-small" key "o-key" of OPENAI_API_KEY`,
		"[llm]\nbase_url = \"http://x.test/v1\"\n[embeddings]\nbase_url = \"http://y.test/v1\"\nmodel = \"m\"": `auto http://y.test/v1 "m" key "" of api_key under [embeddings]`,
	} {
		s := check.Must(Parse("config.toml", []byte(settings)))(t)
		target, on, err := EmbeddingServer(&s)
		check.NoError(t, err)
		check.Equal(t, settings, aim(target, on), want)
	}
	for settings, want := range map[string]string{
		"[embeddings]\nbase_url = \"http://localhost:11434/v1\"":                                        "model: is missing",
		"[embeddings]\nmodel = \"m\"":                                                                   "base_url: is missing",
		"[embeddings]\nbase_url = \"localhost\"\nmodel = \"m\"":                                         "base_url",
		"[embeddings]\nbase_url = \"http://y.test/v1\"\nmodel = \"m\"\ndimensions = 4":                  "16 to 512",
		"[embeddings]\nbase_url = \"http://y.test/v1\"\nmodel = \"m\"\napi_key = \"env:NONE_OF_THESE\"": "NONE_OF_THESE is not set",
		"[embeddings]\nbase_url = \"http://y.test/v1\"\nmodel = \"m\"\ntokens_per_day = -1":             "tokens_per_day",
	} {
		check.ErrorContains(t, settings, check.ErrorOf(Parse("config.toml", []byte(settings))), want)
	}
}

func TestTranscriptionServer(t *testing.T) {
	environment(t, map[string]string{"OPENAI_API_KEY": "o-key"})
	for settings, want := range map[string]string{
		"": "offline",
		"[transcription]\nbase_url = \"http://localhost:8000/v1\"\nmodel = \"m\"":                       `auto http://localhost:8000/v1 "m" key "" of api_key under [transcription]`,
		"[transcription]\nbase_url = \"https://api.openai.com/v1\"\nmodel = \"gpt-4o-mini-transcribe\"": `auto https://api.openai.com/v1 "gpt-4o-mini-transcribe" key "o-key" of OPENAI_API_KEY`,
	} {
		s := check.Must(Parse("config.toml", []byte(settings)))(t)
		target, on, err := TranscriptionServer(&s)
		check.NoError(t, err)
		check.Equal(t, settings, aim(target, on), want)
		check.That(t, s.Transcription.MaxSeconds == 300 && !s.Transcription.Overheard, "the defaults are %+v", s.Transcription)
	}
	for settings, want := range map[string]string{
		"[transcription]\nbase_url = \"http://localhost:8000/v1\"": "model: is missing",
		"[transcription]\nmodel = \"m\"":                           "base_url: is missing",
		"[transcription]\nmax_seconds = 0":                         "1 to 7200",
		"[transcription]\noverheard = \"yes\"":                     "overheard",
	} {
		check.ErrorContains(t, settings, check.ErrorOf(Parse("config.toml", []byte(settings))), want)
	}
}
