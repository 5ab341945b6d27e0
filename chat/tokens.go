package chat

import (
	"cairn/internal/tokens"
	"cairn/llm"
)

// PictureTokens is the estimate for a picture of any size, because sizes in pixels are not known:
// that of a large one. A screen of 1920 by 1080 pixels is 1 105 tokens for GPT-4o and 1 548 for
// Gemini, and Claude scales most pictures down to 1 600.
const PictureTokens = 1600

// TokensOf returns the tokens of the whole message in a prompt.
func TokensOf(m Message) int {
	m.Calls = BrokenCalls(m.Calls)
	return ShownTokens(m, Header(m)+Escape(m.Body())) + len(m.Pictures())*PictureTokens
}

// ShownTokens returns the tokens of m if text is shown instead of its own text: with its calls or
// results, without its pictures and reasoning.
func ShownTokens(m Message, text string) int {
	cost := tokens.PerMessage + tokens.Estimate(text) + CallTokens(m.Calls...)
	if m.CallID != "" {
		cost += tokens.Estimate(m.CallID)
	}
	return cost
}

func CallTokens(calls ...llm.Call) (cost int) {
	for _, call := range calls {
		cost += tokens.PerMessage + tokens.Estimate(call.ID) + tokens.Estimate(call.Name) + tokens.Estimate(call.Arguments)
	}
	return cost
}

// Pictures returns the attachments of m that are stored pictures.
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
