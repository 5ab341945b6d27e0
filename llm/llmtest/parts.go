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

// readContent reads a string, or parts of text and pictures.
func (m *Message) readContent(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var text string
	if raw[0] != '[' {
		m.Content = &text
		return json.Unmarshal(raw, &text)
	}
	var parts []struct {
		Type     string  `json:"type"`
		Text     *string `json:"text"`
		ImageURL *struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	if len(parts) == 0 {
		return errors.New("content is a list of nothing")
	}
	var texts []string
	for i, part := range parts {
		switch {
		case part.Type == "text" && part.Text != nil && *part.Text != "" && part.ImageURL == nil:
			texts = append(texts, *part.Text)
		case part.Type == "image_url" && part.ImageURL != nil && part.Text == nil:
			image, err := readDataURL(part.ImageURL.URL)
			if err != nil {
				return fmt.Errorf("content[%d]: %w", i, err)
			}
			m.Images = append(m.Images, image)
		default:
			return fmt.Errorf("content[%d] is no part of type text or image_url with what that wants", i)
		}
	}
	text = strings.Join(texts, "\n")
	m.Content = &text
	return nil
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
