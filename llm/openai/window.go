// The context window that a server's model really has.

package openai

import (
	"context"

	"cairn/llm"
)

// Window returns the context window: the setting, else the server's, else llm.DefaultWindow. A
// smaller limit learned from an overflow wins.
func (o *Model) Window(ctx context.Context) llm.Window {
	return o.Discovery.Window(ctx, o.Learnt().Facts().Window, o.askWindow)
}

// askWindow returns the window that the server reports; Tokens 0: none. In order of reliability:
// what Ollama has loaded, what is listed, what llama.cpp runs.
func (o *Model) askWindow(ctx context.Context) llm.Window {
	// A server that lists no models may still answer the other requests.
	models, _ := o.Models(ctx)
	listed := o.ListedWindow(models, "GET /models")
	model := o.Discovery.Model()
	root := o.root()
	var running struct {
		Models []struct {
			Name          string
			ContextLength int `json:"context_length"`
		}
	}
	if o.Host != openAIHost && o.Ask(ctx, root+"/api/ps", &running) == nil {
		for _, m := range running.Models {
			if m.ContextLength > 0 && (m.Name == model || m.Name == model+":latest") {
				return llm.Window{Tokens: m.ContextLength, Source: "GET /api/ps"}
			}
		}
	}
	if listed.Tokens > 0 {
		return listed
	}
	var props struct {
		Settings struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if o.Host != openAIHost && o.Ask(ctx, root+"/props", &props) == nil && props.Settings.Context > 0 {
		return llm.Window{Tokens: props.Settings.Context, Source: "GET /props"}
	}
	return llm.Window{}
}
