package web

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"cairn/channel"
	"cairn/config"
)

// messageRoutes returns the routes for programs that chat with the bot.
func (s *Server) messageRoutes() []route {
	return []route{{
		method: "POST", path: "/api/conversations/{name}/messages", handle: s.postMessage,
		summary: "Send a message or a command to a web conversation, web:NAME, which may be new: 202 once the message is on disk; 200 with a command's answer",
		body:    messageNew{}, answers: map[int]any{200: messageTaken{}, 202: messageTaken{}, 400: nil, 409: nil, 422: nil},
	}}
}

// messageNew is a message to deliver.
type messageNew struct {
	Text       string         `json:"text" jsonschema:"a message, or a command as /context; at most 100000 characters"`
	ID         string         `json:"id" jsonschema:"at most 100 bytes, unique in the conversation: a message with a known id is the same one"`
	Compaction map[string]any `json:"compaction,omitempty" jsonschema:"settings for the turn that answers it: {\"background_threshold\": 0.7}"`
}

// messageTaken is the receipt of a message.
type messageTaken struct {
	ID     string `json:"id"`
	Answer string `json:"answer,omitempty" jsonschema:"of a command"`
}

func (s *Server) postMessage(r *request) (any, error) {
	name := r.PathValue("name")
	chat, ours := strings.CutPrefix(name, config.WebName+":")
	if !ours {
		return nil, problem(http.StatusConflict, "Messages can only be sent to web conversations, such as %s:general.", config.WebName)
	}
	if !validChatName.MatchString(chat) {
		return nil, errName
	}
	var b messageNew
	if err := r.decode(&b); err != nil {
		return nil, err
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	settings, err := channel.PatchOf(b.Compaction)
	if err != nil {
		return nil, problem(http.StatusUnprocessableEntity, "%v", err)
	}
	said, err := s.say(r.Context(), name, b, settings)
	if err != nil {
		return nil, err
	}
	status := http.StatusAccepted
	if channel.IsCommand(b.Text) {
		status = http.StatusOK
	}
	return answered{status, messageTaken{b.ID, said}}, nil
}

// check trims the message and returns an error if it is invalid.
func (b *messageNew) check() error {
	switch b.Text = strings.TrimSpace(b.Text); {
	case b.Text == "":
		return bad("Write something first: text is missing or empty.")
	case utf8.RuneCountInString(b.Text) > maxMessage:
		return bad("A message has at most %d characters; this one has %d.", maxMessage, utf8.RuneCountInString(b.Text))
	case b.ID == "" || len(b.ID) > 100:
		return bad("A message needs an id of at most 100 bytes, unique in its conversation.")
	}
	return nil
}
