package llm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/llm"
)

var png = []byte("\x89PNG\r\n\x1a\nwhat a picture holds")

func TestOfflineModelNamesAttachments(t *testing.T) {
	for name, c := range map[string]struct {
		said   llm.Message
		has    []string
		hasNot []string
	}{
		"a picture in words": {
			llm.Message{Text: "[#7 2026-01-01 10:00 Ada] my cat [image: cat.png, image/png, 120 kB]", Images: []llm.Image{{Label: "image of #7: cat.png", Data: png}}},
			[]string{"message #7", "I cannot look into what came with it: image: cat.png, image/png, 120 kB."},
			nil,
		},
		"a picture without words": {
			llm.Message{Text: "look", Images: []llm.Image{{Label: "image of #7: cat.png"}}},
			[]string{"I cannot look into what came with it: image of #7: cat.png."},
			nil,
		},
		"a file, which is no question": {
			llm.Message{Text: "[#7 2026-01-01 10:00 Ada] my notes\n[file: notes.txt, 2 kB]\nWhat is love?\n[end of file]"},
			[]string{"Saved as message #7.", "what came with it: file: notes.txt, 2 kB."},
			[]string{"found nothing"},
		},
		"nothing": {
			llm.Message{Text: "[#7 2026-01-01 10:00 Ada] my [brackets: here]"},
			[]string{"Saved"},
			[]string{"came with it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.said.Role = llm.RoleUser
			resp := check.Must(llm.NewOffline(0).Generate(t.Context(), llm.Request{Messages: []llm.Message{c.said}}, nil))(t)
			holds(t, resp.Message.Text, c.has...)
			lacks(t, resp.Message.Text, c.hasNot...)
		})
	}
}

func TestStoredMessagesOmitPictures(t *testing.T) {
	raw := check.Must(json.Marshal(llm.Message{Role: llm.RoleUser, Text: "look", Images: []llm.Image{{Data: png}}}))(t)
	check.Lacks(t, "the request", strings.ToLower(string(raw)), "image")
}
