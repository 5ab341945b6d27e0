package chat

import (
	"cairn/internal/tokens"
	"cairn/llm"
)

// PictureTokens is what a picture costs in a prompt, whatever its size, which nobody
// knows in pixels: as much as large ones cost. A screen of 1920 to 1080 pixels is
// 1 105 tokens for GPT-4o and 1 548 for Gemini, and Claude scales most down to 1 600.
const PictureTokens = 1600

// TokensOf returns what the whole of m costs in a prompt, in tokens.
func TokensOf(m Message) int {
	m.Calls = BrokenCalls(m.Calls)
	return ShownTokens(m, Header(m)+Escape(m.Body())) + len(m.Pictures())*PictureTokens
}

// ShownTokens is the cost of m when text is shown of it: with its calls or results, without its
// pictures and reasoning.
func ShownTokens(m Message, text string) int {
	cost := tokens.PerMessage + tokens.Estimate(text) + CallTokens(m.Calls...)
	if m.CallID != "" {
		cost += tokens.Estimate(m.CallID)
	}
	return cost
}

// CallTokens returns what calls of tools cost in a prompt.
func CallTokens(calls ...llm.Call) (cost int) {
	for _, call := range calls {
		cost += tokens.PerMessage + tokens.Estimate(call.ID) + tokens.Estimate(call.Name) + tokens.Estimate(call.Arguments)
	}
	return cost
}

// Pictures returns those that came with m and are kept, to be shown.
func (m Message) Pictures() []Attachment {
	if m.Role != llm.RoleUser {
		return nil
	}
	var pictures []Attachment
	for _, a := range m.Attachments {
		if a.File > 0 {
			pictures = append(pictures, a)
		}
	}
	return pictures
}
