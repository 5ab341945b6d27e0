// API routes: what people do with a whole conversation: name, archive and export it.

package web

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"cairn/chat"
	"cairn/config"
	"cairn/store"
)

// rooms changes whole conversations.
type rooms struct {
	store  *store.Store
	events *Events
}

func (c *rooms) routes() []route {
	const one = conversationPath
	export := route{
		pattern: "GET " + one + "/export", summary: "Every message of a conversation, oldest first, and what was summarized, as a file",
		file: c.export, types: []string{"application/json", "text/markdown"},
		query: []param{{name: "format", text: "which file (default: json)", words: []string{"json", "markdown"}}},
	}
	picture := route{pattern: "GET " + one + "/files/{id}", summary: "A picture that came with a message", file: sendFile, types: []string{"image/*"}}
	return []route{
		send("PATCH "+one, "Name a web conversation, archive any conversation or take it out of the archive", c.patch, http.StatusOK, http.StatusConflict, http.StatusUnprocessableEntity),
		export, picture,
	}
}

// maxCalled is how many characters a name may have that people give a conversation.
const maxCalled = 80

type roomPatch struct {
	Name     *string `json:"name,omitempty" jsonschema:"what people call it, at most 80 characters; empty: its own name"`
	Archived *bool   `json:"archived,omitempty" jsonschema:"true: it leaves the list beside the chat until somebody writes in it"`
}

func (c *rooms) patch(r *request, b roomPatch) (done doneAnswer, err error) {
	_, isChat := strings.CutPrefix(r.conversation.Name(), config.WebName+":")
	switch {
	case b.Name == nil && b.Archived == nil:
		return done, invalid("Change name or archived: {\"archived\": true}.")
	case b.Name != nil && !isChat:
		return done, problem(http.StatusConflict, "Only web conversations can be named: others have the name of their place.")
	case b.Name != nil && utf8.RuneCountInString(*b.Name) > maxCalled:
		return done, invalid("name: must be at most %d characters.", maxCalled)
	}
	if b.Name != nil {
		err = r.conversation.Transcript().Rename(r.Context(), chat.OneLine(*b.Name))
	}
	if err == nil && b.Archived != nil {
		err = r.conversation.Transcript().Archive(r.Context(), *b.Archived)
	}
	if err == nil {
		c.events.changed(r.conversation.Name())
	}
	return doneAnswer{Done: err == nil}, err
}
