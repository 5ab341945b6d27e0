// The models a server offers, and their windows.

package anthropic

import (
	"context"
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

// preferred are Anthropic's small chat models if none is set, best choice first, as of November
// 2026.
var preferred = []string{
	string(sdk.ModelClaudeHaiku5_5),
	string(sdk.ModelClaudeHaiku4_5),
	string(sdk.ModelClaudeHaiku4_5_20251001),
	string(sdk.ModelClaudeSonnet5_5),
	string(sdk.ModelClaudeSonnet5),
	string(sdk.ModelClaudeSonnet4_6),
}

// claudeWindow is the minimum window of every Claude model since 2023, in tokens.
const claudeWindow = 200_000

// Limits of a list of models.
const (
	maxListed = 5000
	maxPage   = 4 << 20 // bytes
)

// listed is an entry of GET /v1/models, with fields that other servers add.
type listed struct {
	provider.Listed
	Capabilities struct {
		Image *struct {
			Supported bool `json:"supported"`
		} `json:"image_input"`
	} `json:"capabilities"` // Anthropic
}

// Models lists what the server offers, see llm.Lister.
func (m *Model) Models(ctx context.Context) ([]llm.Offered, error) {
	watched, silence := llm.WatchSilence(ctx, m.Options.IdleTimeout)
	defer silence.Stop()
	transport := m.Transport(silence)
	transport.Most = maxPage
	pages := m.client.Models.ListAutoPaging(watched, sdk.ModelListParams{Limit: sdk.Int(1000)}, option.WithHTTPClient(transport))
	var offered []llm.Offered
	for len(offered) < maxListed && pages.Next() {
		model := pages.Current()
		var l listed
		// A field of another type leaves its number at 0.
		_ = json.Unmarshal([]byte(model.RawJSON()), &l)
		o := llm.Offered{ID: model.ID, Window: l.Window()}
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
	if err := pages.Err(); err != nil {
		return nil, known(silence.Translate(err))
	}
	return offered, nil
}

// Window returns the context window: the setting, else the server's, else that of every Claude
// model, else llm.DefaultWindow. A smaller limit learned from an overflow wins.
func (m *Model) Window(ctx context.Context) llm.Window {
	return m.Discovery.Window(ctx, m.Learnt().Facts().Window, m.ask)
}

// ask returns what is known about the model's window; Tokens 0: nothing.
func (m *Model) ask(ctx context.Context) llm.Window {
	models, err := m.Models(ctx)
	if err == nil {
		_ = m.Discovery.ChooseFrom(models) // without a model there is no window
	}
	model := m.Discovery.Model()
	for _, o := range models {
		if o.ID == model && o.Window > 0 {
			return llm.Window{Tokens: o.Window, Source: "GET /v1/models"}
		}
	}
	if strings.HasPrefix(model, "claude-") {
		return llm.Window{Tokens: claudeWindow, Source: "table of models"}
	}
	return llm.Window{}
}
