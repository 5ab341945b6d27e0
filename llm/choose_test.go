package llm_test

import (
	"testing"

	"cairn/llm"
)

func TestChoose(t *testing.T) {
	preferred := []string{"small-2", "small-1"}
	for name, c := range map[string]struct {
		offered []string
		want    string // empty: none
	}{
		"the first of the preferred that is offered":  {[]string{"text-embedding-3", "big", "small-1", "small-2"}, "small-2"},
		"no other of such a name":                     {[]string{"small-2-2026-01-01", "big"}, "big"},
		"the first for chats where none is preferred": {[]string{"text-embedding-ada-002", "whisper-1", "tts-1-hd", "dall-e-3", "gpt-image-1", "omni-moderation-latest", "gpt-realtime", "gpt-4o-search-preview", "gpt-5-codex", "gpt-4o-transcribe", "bge-reranker", "all-minilm:latest", "paraphrase-multilingual", "text-e5-large", "gte-large", "sora-2", "gpt-audio", "black-forest-labs/FLUX.1-schnell", "stable-diffusion-3.5", "mistral-ocr-latest", "veo-3.1", "gpt-5.1"}, "gpt-5.1"},
		"no snapshot where there is another":          {[]string{"gpt-4o-2024-08-06", "gpt-4-0613", "claude-3-5-haiku-20241022", "gpt-4o"}, "gpt-4o"},
		"a snapshot where there is nothing else":      {[]string{"text-embedding-3", "gpt-4o-2024-08-06"}, "gpt-4o-2024-08-06"},
		"nothing for chats":                           {[]string{"text-embedding-3", "whisper-1"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var offered []llm.Offered
			for _, id := range c.offered {
				offered = append(offered, llm.Offered{ID: id, Window: 7})
			}
			got, ok := llm.Choose(preferred, offered)
			if got.ID != c.want || ok != (c.want != "") || ok && got.Window != 7 {
				t.Errorf("got %+v, %v, want %q", got, ok, c.want)
			}
		})
	}
}
