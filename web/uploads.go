// Files that come with messages: how they arrive, and pictures on their way back to the page.

package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

// maxUpload is how many bytes the body of a message may have: base64 is a third longer than its files.
const maxUpload = platform.MaxUploadBytes/3*4 + maxBody

type fileNew struct {
	Name string `json:"name" jsonschema:"with its extension, which tells what kind of text it is"`
	Type string `json:"type,omitempty" jsonschema:"media type; absent: the name and the content tell it"`
	Data []byte `json:"data" jsonschema:"in base64"`
}

// takesFiles reports whether a request may have files in its body.
func takesFiles(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/api/") && strings.HasSuffix(r.URL.Path, "/messages")
}

// attachments returns what could be read of the files that come with a message.
func (c *chats) attachments(ctx context.Context, conversation string, m channel.Inbound, files []fileNew) ([]channel.Attachment, error) {
	if len(files) == 0 {
		return nil, nil
	}
	var with platform.Files
	if c.files != nil {
		with = c.files()
	}
	all, err := with.Read(ctx, conversation, m, each(files, func(f fileNew) platform.Upload { return platform.Upload(f) }))
	if refused, ok := errors.AsType[*platform.UploadError](err); ok {
		return nil, invalid("%s", refused.Error())
	}
	return all, err
}

// sendFile answers with a stored picture. The store has no other files.
func sendFile(w http.ResponseWriter, r *request) error {
	kind, data, err := r.conversation.Transcript().File(r.Context(), r.id("id"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "private, max-age=3600")
	http.ServeContent(w, r.Request, "", time.Time{}, bytes.NewReader(data))
	return nil
}

// attachmentWords describes a file of a message.
func attachmentWords(w chat.With) string {
	return strings.TrimSpace(strings.Join([]string{w.Kind, w.Name, w.Caption}, " "))
}

// withOf returns the files of a message that waits.
func withOf(all []channel.Attachment) []chat.With {
	return chat.RecordOf(chat.Message{Attachments: all}).With
}
