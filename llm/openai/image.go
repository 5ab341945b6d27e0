// How pictures are put into the words of the chat protocol.

package openai

import (
	"encoding/base64"

	api "github.com/sashabaranov/go-openai"

	"cairn/llm"
)

// protocolContent is what a user's message holds: the text alone, or, where there
// are pictures to send, parts. Pictures stand before the text: it may end in what
// changes from turn to turn, and what stands behind that is not in a prompt cache.
func protocolContent(text string, images []llm.Image) (string, []api.ChatMessagePart) {
	var parts []api.ChatMessagePart
	for _, image := range images {
		kind, sendable := image.MediaType()
		if !sendable {
			if text != "" {
				text += "\n\n"
			}
			text += "[" + image.Name() + ", not shown]"
			continue
		}
		parts = append(parts,
			api.ChatMessagePart{Type: api.ChatMessagePartTypeText, Text: "[" + image.Name() + "]"},
			api.ChatMessagePart{Type: api.ChatMessagePartTypeImageURL, ImageURL: &api.ChatMessageImageURL{
				URL: "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(image.Data),
			}})
	}
	if len(parts) == 0 {
		return text, nil
	}
	if text != "" {
		parts = append(parts, api.ChatMessagePart{Type: api.ChatMessagePartTypeText, Text: text})
	}
	return "", parts
}
