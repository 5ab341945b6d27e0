// What a strict provider demands of a message's content.

package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"cairn/llm"
)

// imageTokens is what the server counts for a picture, whatever its size: GPT-4o
// counts 765 for a square of 1024 pixels.
const imageTokens = 765

// readParts reads a string, or parts of text and pictures whose types are given; image
// "" for none.
func (m *Message) readParts(raw json.RawMessage, text, image string) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var err error
	if m.Parts, m.Images, err = readParts(raw, text, image); err != nil {
		return err
	}
	whole := strings.Join(m.Parts, "\n")
	m.Content = &whole
	return nil
}

// partFields are the fields of a part.
var partFields = []string{"type", "text", "image_url", "detail", "annotations", "prompt_cache_breakpoint", "cache_control"}

func readParts(raw json.RawMessage, textType, imageType string) (texts []string, images []llm.Image, err error) {
	if len(raw) == 0 || raw[0] != '[' {
		texts = make([]string, 1)
		return texts, nil, json.Unmarshal(raw, &texts[0])
	}
	var parts []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, nil, err
	}
	if len(parts) == 0 {
		return nil, nil, errors.New("content is a list of nothing")
	}
	for i, part := range parts {
		if err := unknownField(part, fmt.Sprintf("content[%d].", i), partFields); err != nil {
			return nil, nil, err
		}
		var kind, text string
		_ = json.Unmarshal(part["type"], &kind) // no string: no type, which is refused below
		switch _, marked := part["prompt_cache_breakpoint"]; {
		case marked && (!strings.HasPrefix(kind, "input_") || string(part["prompt_cache_breakpoint"]) != `{"mode":"explicit"}`):
			return nil, nil, fmt.Errorf("content[%d]: prompt_cache_breakpoint %s on %s", i, part["prompt_cache_breakpoint"], kind)
		case kind == textType && json.Unmarshal(part["text"], &text) == nil && text != "" && part["image_url"] == nil:
			texts = append(texts, text)
		case imageType != "" && kind == imageType && part["image_url"] != nil && part["text"] == nil:
			image, err := readImage(part["image_url"])
			if err != nil {
				return nil, nil, fmt.Errorf("content[%d]: %w", i, err)
			}
			images = append(images, image)
		default:
			return nil, nil, fmt.Errorf("content[%d] is no part of type %s or %s with what that wants", i, textType, imageType)
		}
	}
	return texts, images, nil
}

// readImage reads a data URL: a string on Responses, in an object on chat completions.
func readImage(raw json.RawMessage) (llm.Image, error) {
	var url string
	if json.Unmarshal(raw, &url) == nil {
		return readDataURL(url)
	}
	var object struct{ URL string }
	if err := json.Unmarshal(raw, &object); err != nil {
		return llm.Image{}, err
	}
	return readDataURL(object.URL)
}

var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// readDataURL reads a picture that a request holds itself. As strict providers do,
// it takes none whose type is not what its bytes begin with.
func readDataURL(url string) (llm.Image, error) {
	kind, encoded, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	if !ok || !strings.HasPrefix(url, "data:") || !slices.Contains(imageTypes, kind) {
		return llm.Image{}, fmt.Errorf("%.40q is no data URL of a picture", url)
	}
	data, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return llm.Image{}, fmt.Errorf("the picture is no base64: %w", err)
	}
	if real := http.DetectContentType(data); real != kind {
		return llm.Image{}, fmt.Errorf("the picture was specified as %s, but it appears to be %s", kind, real)
	}
	return llm.Image{Type: kind, Data: data}, nil
}
