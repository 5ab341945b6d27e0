// How pictures are put into the words of the chat protocol.

package llm

import (
	"encoding/base64"
	"net/http"

	openai "github.com/sashabaranov/go-openai"
)

// sendable are the types of pictures every provider that takes pictures takes.
var sendable = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// protocolContent is what a user's message holds: the text alone, or, where there
// are pictures to send, parts. Pictures stand before the text: it may end in what
// changes from turn to turn, and what stands behind that is not in a prompt cache.
func protocolContent(text string, images []Image) (string, []openai.ChatMessagePart) {
	var parts []openai.ChatMessagePart
	for _, image := range images {
		kind := http.DetectContentType(image.Data)
		if !sendable[kind] {
			if text != "" {
				text += "\n\n"
			}
			text += "[" + image.label() + ", not shown]"
			continue
		}
		parts = append(parts,
			openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: "[" + image.label() + "]"},
			openai.ChatMessagePart{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{
				URL: "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(image.Data),
			}})
	}
	if len(parts) == 0 {
		return text, nil
	}
	if text != "" {
		parts = append(parts, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: text})
	}
	return "", parts
}

func (i Image) label() string {
	if i.Label == "" {
		return "image"
	}
	return i.Label
}
