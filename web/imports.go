// API routes: imports of messages and memories, for programs beside the bot.

package web

import (
	"errors"
	"net/http"
	"reflect"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cairn/channel"
	"cairn/chat"
	"cairn/memory"
	"cairn/store"
)

// Recorded is a recorded message, as in files for `cairn import`.
type Recorded struct {
	ID          string            `json:"id"`
	Time        time.Time         `json:"time"`
	Author      string            `json:"author"`
	Text        string            `json:"text"`
	Attachments []chat.Attachment `json:"attachments,omitempty"`
}

// Check returns why the message cannot be imported.
func (r Recorded) Check() error {
	switch {
	case r.ID == "":
		return errors.New(`"id" is missing: without it a message would be imported twice`)
	case strings.HasPrefix(r.ID, "cairn:"): // the result of a later task would count as known
		return errors.New(`"id" begins with "cairn:", which is reserved for results of tasks: use another`)
	case strings.TrimSpace(r.Author) == "":
		return errors.New(`"author" is missing`)
	case r.Time.IsZero():
		return errors.New(`"time" is missing`)
	case r.Time.After(time.Now().Add(24 * time.Hour)): // clocks differ
		return errors.New(`"time" is in the future, in ` + r.Time.Format("2006") + ": correct it")
	case strings.TrimSpace(r.Text) == "" && len(r.Attachments) == 0:
		return errors.New(`"text" is missing, and there are no attachments`)
	}
	return nil
}

// Same reports whether two messages are equal; the same moment in another time zone is.
func (r Recorded) Same(other Recorded) bool {
	r.Time, other.Time = r.Time.UTC(), other.Time.UTC()
	return reflect.DeepEqual(r, other)
}

// Message returns the message as a conversation receives it.
func (r Recorded) Message() channel.Inbound {
	return channel.Inbound{ID: r.ID, AuthorID: r.Author, Author: r.Author, Text: r.Text, Attachments: r.Attachments, Time: r.Time}
}

const (
	importPath       = conversationPath + "/import"
	memoryImportPath = memoriesPath + "/import"
	importSuffix     = "/import"

	// MaxImportBody limits a request with an import, in bytes. A line of a file has at most 16 MiB.
	MaxImportBody = 40 << 20

	// ImportedConnector is the connector of the conversations that messages are imported into.
	ImportedConnector = "terminal"
)

// bodyLimit returns the most bytes that the body of a request may have.
func bodyLimit(r *http.Request) int64 {
	if r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/api/") && strings.HasSuffix(r.URL.Path, importSuffix) {
		return MaxImportBody
	}
	if takesFiles(r) {
		return maxUpload
	}
	if r.Context().Value(trusted{}) != nil {
		return maxLocalBody
	}
	return maxBody
}

// ImportPart is a part of an import.
type ImportPart struct {
	Messages []Recorded `json:"messages" jsonschema:"at most 1000, oldest first"`
	Check    bool       `json:"check,omitempty" jsonschema:"true: nothing is stored; the answer says whether it could be"`
}

// ImportStored is the answer to a part.
type ImportStored struct {
	Imported int `json:"imported" jsonschema:"how many were new; the others were known"`
}

// ImportState is how far a conversation is with what was imported.
type ImportState struct {
	Unread int  `json:"unread" jsonschema:"messages that are stored, can be searched, and are not summarized yet"`
	Done   bool `json:"done" jsonschema:"all is read, and the summaries that were due are made"`
}

// imports handles imports.
type imports struct {
	hub   *channel.Hub
	store *store.Store
}

func (i *imports) routes() []route {
	part := send("POST "+importPath, "Import a part of earlier messages into a channel of the terminal: they are stored, and summarized in the background; "+
		"known ids are skipped; 409 if people have talked there", i.messages, http.StatusOK, http.StatusConflict, http.StatusUnprocessableEntity)
	part.fresh = true
	return []route{
		part,
		read(importPath, "How far the conversation is with what was imported", i.state),
		send("POST "+memoryImportPath, "Import exported memories: all of them or, if one cannot be imported, none; known ones are skipped",
			i.memories, http.StatusOK, http.StatusUnprocessableEntity),
	}
}

func (i *imports) messages(r *request, b ImportPart) (stored ImportStored, err error) {
	name := r.PathValue("conversation")
	short, ours := strings.CutPrefix(name, ImportedConnector+":")
	switch {
	case !ours || strings.TrimSpace(short) == "" || !utf8.ValidString(short) || strings.ContainsFunc(short, unicode.IsControl):
		return stored, invalid("conversation: messages can be imported into channels of the terminal only, such as terminal:past.")
	case len(b.Messages) > channel.ImportBatch:
		return stored, invalid("messages: at most %d in one request.", channel.ImportBatch)
	}
	var past []channel.Inbound
	for at, m := range b.Messages {
		if err := m.Check(); err != nil {
			return stored, invalid("messages[%d]: %v.", at, err)
		}
		past = append(past, m.Message())
	}
	if b.Check {
		return stored, channel.CheckImport(r.Context(), i.hub, name, past)
	}
	stored.Imported, err = channel.StoreImport(r.Context(), i.hub, name, past)
	return stored, err
}

func (i *imports) state(r *request) (s ImportState, err error) {
	s.Unread, s.Done, err = channel.ImportLeft(r.Context(), i.hub.Operator(), r.conversation.Name())
	return s, err
}

// ImportedMemories is what export wrote.
type ImportedMemories struct {
	Memories []memory.Exported `json:"memories"`
}

func (i *imports) memories(r *request, b ImportedMemories) (memory.ImportResult, error) {
	n, err := memory.In(i.store).Import(r.Context(), b.Memories)
	if wrong, is := errors.AsType[*memory.ImportError](err); is {
		err = invalid("memories[%d]: %v.", wrong.Index, wrong.Err)
	}
	return n, err
}
