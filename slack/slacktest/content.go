// The content of messages: its limits, and files shared by people (messaging/working-with-files).
package slacktest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"
)

// Sizes in characters, interpreted as Unicode code points (judgement: no document says which).
const (
	maxText      = 40_000 // longer posts are truncated (reference/methods/chat.postMessage#truncating)
	advisedText  = 4_000  // "best results" (same page); in chat.update a limit
	maxMarkdown  = 12_000 // markdown_text (reference/methods/chat.postMessage)
	riskyBlocks  = 13_000 // bytes of all blocks; msg_blocks_too_long was observed slightly above (github.com/slackapi/bolt-js/issues/2509)
	maxBlocks    = 50     // reference/block-kit/blocks
	maxSection   = 3_000  // reference/block-kit/blocks/section-block
	maxElements  = 25     // of an actions block: reference/block-kit/blocks/actions-block
	maxButton    = 75     // reference/block-kit/block-elements/button-element
	everyonePing = "<!channel>,<!here>,<!everyone>"
)

// content is the content of a message.
type content struct {
	text     string
	blocks   json.RawMessage
	metadata json.RawMessage
}

// contentLocked parses and validates the content of a post or an edit.
func (s *Server) contentLocked(a args) content {
	c := content{text: a["text"]}
	if s.opt.IgnoresMarkdown && a["markdown_text"] != "" {
		return content{text: a["text"], metadata: json.RawMessage(a["metadata"])}
	}
	if a["markdown_text"] != "" {
		refuseIf(a["text"] != "" || a["blocks"] != "", "markdown_text_conflict")
		refuseIf(utf8.RuneCountInString(a["markdown_text"]) > maxMarkdown, "msg_too_long")
		c.text = a["markdown_text"]
	} else if n := utf8.RuneCountInString(c.text); n > advisedText {
		s.complainLocked("text of %d characters: no more than %d are recommended", n, advisedText)
		c.text = string([]rune(c.text)[:min(n, maxText)])
	}
	if a["blocks"] != "" {
		checkBlocks(a["blocks"])
		if n := len(a["blocks"]); n > riskyBlocks {
			s.complainLocked("blocks of %d bytes: Slack was seen to refuse more than about %d", n, riskyBlocks)
		}
		c.blocks = json.RawMessage(a["blocks"])
	}
	if a["metadata"] != "" {
		checkMetadata(a["metadata"])
		c.metadata = json.RawMessage(a["metadata"])
	}
	refuseIf(strings.TrimSpace(c.text) == "" && c.blocks == nil, "no_text")
	s.watchPingsLocked(c)
	return c
}

func (s *Server) watchPingsLocked(c content) {
	for _, ping := range strings.Split(everyonePing, ",") {
		if strings.Contains(c.text, ping) || strings.Contains(blocksText(c.blocks), ping) {
			s.complainLocked("a message with %s calls everybody", ping)
		}
	}
}

type block struct {
	Type     string
	Text     json.RawMessage
	Elements []struct {
		Type string
		Text json.RawMessage
	}
}

// checkBlocks refuses with invalid_blocks and a JSON pointer, as Slack does, or with
// invalid_blocks_format if raw is not a list of blocks.
func checkBlocks(raw string) {
	var blocks []block
	refuseIf(json.Unmarshal([]byte(raw), &blocks) != nil, "invalid_blocks_format")
	refuseIf(len(blocks) > maxBlocks, "invalid_blocks", fmt.Sprintf("[ERROR] no more than %d items allowed [json-pointer:/blocks]", maxBlocks))
	for i, b := range blocks {
		fault := b.fault()
		refuseIf(fault != "", "invalid_blocks", fmt.Sprintf("[ERROR] %s [json-pointer:/blocks/%d]", fault, i))
	}
}

// fault returns what is wrong with a block; "" if nothing is. The double supports sections and
// actions.
func (b block) fault() string {
	switch b.Type {
	case "section":
		return checkText(b.Text, maxSection)
	case "actions":
		if len(b.Elements) == 0 || len(b.Elements) > maxElements {
			return fmt.Sprintf("must have 1 to %d elements", maxElements)
		}
		for _, e := range b.Elements {
			if e.Type == "" {
				return "element without a type"
			}
			if fault := checkText(e.Text, maxButton); e.Type == "button" && fault != "" {
				return fault
			}
		}
		return ""
	}
	return "unsupported type: " + b.Type
}

// checkText returns what is wrong with a text object
// (reference/block-kit/composition-objects/text-object); "" if nothing is.
func checkText(raw json.RawMessage, limit int) string {
	var object struct{ Type, Text string }
	if json.Unmarshal(raw, &object) != nil || object.Type != "mrkdwn" && object.Type != "plain_text" {
		return "text is no text object"
	}
	if n := utf8.RuneCountInString(object.Text); n == 0 || n > limit {
		return fmt.Sprintf("must be more than 0 and less than %d characters", limit+1)
	}
	return ""
}

// checkMetadata requires an event_type and an event_payload (messaging/message-metadata).
func checkMetadata(raw string) {
	var m struct {
		EventType    string          `json:"event_type"`
		EventPayload map[string]any  `json:"event_payload"`
		Entities     json.RawMessage `json:"entities"`
	}
	refuseIf(json.Unmarshal([]byte(raw), &m) != nil, "invalid_metadata_format")
	refuseIf(m.Entities == nil && (m.EventType == "" || m.EventPayload == nil), "invalid_metadata_schema")
}

// File is the content of a file.
type File struct {
	Name     string
	Mimetype string // such as text/plain
	Content  []byte
}

type file struct {
	File
	id, owner string
}

func (s *Server) addFileLocked(f File, owner string) string {
	id := s.idLocked("F")
	s.files[id] = &file{File: f, id: id, owner: owner}
	return id
}

func (s *Server) fileObjectLocked(f *file) map[string]any {
	url := s.http.URL + "/files-pri/" + f.id + "/" + f.Name
	return map[string]any{
		"id": f.id, "name": f.Name, "title": f.Name, "mimetype": f.Mimetype, "size": len(f.Content), "user": f.owner,
		"filetype": strings.TrimPrefix(path.Ext(f.Name), "."), "mode": "hosted", "is_external": false,
		"url_private": url, "url_private_download": url,
	}
}

func (s *Server) fileObjectsLocked(ids []string) []map[string]any {
	objects := make([]map[string]any, len(ids))
	for i, id := range ids {
		objects[i] = s.fileObjectLocked(s.files[id])
	}
	return objects
}

// serveDownload returns a file if the Authorization header has the bot token
// (reference/objects/file-object#authentication). Otherwise it redirects to the sign-in page:
// finally a 200 with HTML, which is easily mistaken for the file.
func (s *Server) serveDownload(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("file")
	s.serve(w, r, "files.download", args{"file": id}, func() reply {
		s.mu.Lock()
		defer s.mu.Unlock()
		f := s.files[id]
		switch {
		case r.Header.Get("Authorization") != "Bearer "+BotToken || !s.granted("files:read"):
			a := newReply(http.StatusFound, "text/html", nil, "not_authed")
			a.Header.Set("Location", "/?redir="+r.URL.Path)
			return a
		case f == nil:
			return newReply(http.StatusNotFound, "text/html", []byte("<html>not found</html>"), "file_not_found")
		}
		return newReply(http.StatusOK, f.Mimetype, f.Content, "")
	})
}

func (s *Server) serveSignIn(w http.ResponseWriter, _ *http.Request) {
	newReply(http.StatusOK, "text/html; charset=utf-8", []byte("<!DOCTYPE html><title>Sign in</title>"), "").Write(w)
}
