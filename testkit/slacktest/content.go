// The content of messages, and its limits.

package slacktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/slack-go/slack"
)

// Sizes in characters, interpreted as Unicode code points (judgement: no document says which).
const (
	maxText        = 40_000 // longer posts are truncated (reference/methods/chat.postMessage#truncating)
	advisedText    = 4_000  // "best results" (same page); in chat.update a limit
	maxMarkdown    = 12_000 // markdown_text (reference/methods/chat.postMessage)
	maxBytes       = 13_000 // of all blocks (slightly more was seen to be refused: github.com/slackapi/bolt-js/issues/2509)
	maxBlocks      = 50     // reference/block-kit/blocks
	maxSection     = 3_000  // reference/block-kit/blocks/section-block
	maxOptions     = 100    // of a menu: reference/block-kit/block-elements/select-menu-element
	maxOption      = 75     // characters of an option: reference/block-kit/composition-objects/option-object
	maxOptionValue = 150
	maxElements    = 25 // of an actions block: reference/block-kit/blocks/actions-block
	maxButton      = 75 // reference/block-kit/block-elements/button-element
	everyonePing   = "<!channel>,<!here>,<!everyone>"
)

type content struct {
	text     string
	blocks   json.RawMessage
	metadata json.RawMessage
}

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
		refuseIf(len(a["blocks"]) > maxBytes, "msg_blocks_too_long")
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

// checkBlocks refuses with invalid_blocks and a JSON pointer, or invalid_blocks_format if raw is no list of blocks.
func checkBlocks(raw string) {
	var blocks slack.Blocks
	refuseIf(json.Unmarshal([]byte(raw), &blocks) != nil, "invalid_blocks_format")
	list := blocks.BlockSet
	refuseIf(len(list) > maxBlocks, "invalid_blocks", fmt.Sprintf("[ERROR] no more than %d items allowed [json-pointer:/blocks]", maxBlocks))
	for i, b := range list {
		fault := checkBlock(b)
		refuseIf(fault != "", "invalid_blocks", fmt.Sprintf("[ERROR] %s [json-pointer:/blocks/%d]", fault, i))
	}
}

// checkBlock returns what is wrong with a block; "" if nothing is. The double supports sections, Markdown (reference/block-kit/blocks/markdown-block),
// and actions with buttons and static menus.
func checkBlock(b slack.Block) string {
	switch b := b.(type) {
	case *slack.MarkdownBlock:
		if n := utf8.RuneCountInString(b.Text); n == 0 || n > maxMarkdown {
			return fmt.Sprintf("must have 1 to %d characters", maxMarkdown)
		}
		return ""
	case *slack.SectionBlock:
		return checkText(b.Text, maxSection)
	case *slack.ActionBlock:
		if b.Elements == nil || len(b.Elements.ElementSet) == 0 || len(b.Elements.ElementSet) > maxElements {
			return fmt.Sprintf("must have 1 to %d elements", maxElements)
		}
		for _, e := range b.Elements.ElementSet {
			if fault := checkElement(e); fault != "" {
				return fault
			}
		}
		return ""
	}
	return "unsupported type: " + string(b.BlockType())
}

// checkElement: reference/block-kit/block-elements/button-element, select-menu-element and composition-objects/option-object.
func checkElement(e slack.BlockElement) string {
	switch e := e.(type) {
	case *slack.ButtonBlockElement:
		return checkText(e.Text, maxButton)
	case *slack.SelectBlockElement:
		if e.Type != slack.OptTypeStatic || len(e.Options) == 0 || len(e.Options) > maxOptions {
			return fmt.Sprintf("must have 1 to %d options", maxOptions)
		}
		for _, o := range e.Options {
			if fault := checkText(o.Text, maxOption); fault != "" {
				return fault
			}
			if n := utf8.RuneCountInString(o.Value); n == 0 || n > maxOptionValue {
				return fmt.Sprintf("a value must have 1 to %d characters", maxOptionValue)
			}
		}
		return checkText(e.Placeholder, maxPlaceholder)
	}
	return "unsupported element: " + string(e.ElementType())
}

// knownBlocks returns the blocks of another app. It panics if one is of a kind that Slack does not document (reference/block-kit/blocks),
// or too long or too many for a message.
func knownBlocks(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	var blocks slack.Blocks
	if err := json.Unmarshal(raw, &blocks); err != nil || len(raw) > maxBytes || len(blocks.BlockSet) > maxBlocks {
		panic(fmt.Sprintf("slacktest: no blocks of a message: %s, %v", raw, err))
	}
	for _, b := range blocks.BlockSet {
		if _, unknown := b.(*slack.UnknownBlock); unknown {
			panic("slacktest: unknown block: " + string(b.BlockType()))
		}
	}
	return raw
}

// knownAttachments returns the attachments of another app. It panics if they have other fields than Slack documents
// (reference/messaging/attachments).
func knownAttachments(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	var attachments []slack.Attachment
	if err := decoder.Decode(&attachments); err != nil {
		panic(fmt.Sprintf("slacktest: no attachments: %s, %v", raw, err))
	}
	return raw
}

// checkText returns what is wrong with a text object (reference/block-kit/composition-objects/text-object); "" if nothing is.
func checkText(text *slack.TextBlockObject, limit int) string {
	if text == nil || text.Type != slack.MarkdownType && text.Type != slack.PlainTextType {
		return "text is no text object"
	}
	if n := utf8.RuneCountInString(text.Text); n == 0 || n > limit {
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
