// The models a server offers, and their windows.

package anthropic

import (
	"context"
	"strings"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

// preferred are Anthropic's small chat models if none is set, best choice first, as of November
// 2026.
var preferred = []string{
	"claude-haiku-5-5",
	"claude-haiku-4-5",
	"claude-haiku-4-5-20251001",
	"claude-sonnet-5-5",
	"claude-sonnet-5",
	"claude-sonnet-4-6",
}

// claudeWindow is the minimum window of every Claude model since 2023, in tokens.
const claudeWindow = 200_000

// listed is an entry of GET /v1/models, with fields that other servers add.
type listed struct {
	provider.Listed
	ID           string `json:"id"`
	Capabilities struct {
		Image *struct {
			Supported bool `json:"supported"`
		} `json:"image_input"`
	} `json:"capabilities"` // Anthropic
}

// Models lists what the server offers.
func (m *Model) Models(ctx context.Context) (offered []llm.Offered, err error) {
	var page struct{ Data []listed }
	if err := m.Ask(ctx, m.Options.BaseURL+"/v1/models?limit=1000", &page); err != nil {
		return nil, err
	}
	for _, l := range page.Data {
		o := llm.Offered{ID: l.ID, Window: l.Window()}
		if strings.HasPrefix(o.ID, "claude-") {
			o.Tools = "yes"
		}
		if image := l.Capabilities.Image; image != nil {
			if o.Images = "no"; image.Supported {
				o.Images = "yes"
			}
		}
		offered = append(offered, o)
	}
	return offered, nil
}

// AskWindow returns what is known about the model's window; Tokens 0: nothing.
func (m *Model) AskWindow(ctx context.Context) llm.Window {
	models, _ := m.Models(ctx) // without a list there is still the table
	window := m.ListedWindow(models, "GET /v1/models")
	if window.Tokens == 0 && strings.HasPrefix(m.Model(), "claude-") {
		return llm.Window{Tokens: claudeWindow, Source: "table of models"}
	}
	return window
}
