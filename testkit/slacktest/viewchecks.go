// What a view may have (reference/views, reference/block-kit).

package slacktest

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/slack-go/slack"
)

const (
	maxView        = 250_000 // bytes of a view: view_too_large (reference/methods/views.publish)
	maxViewBlocks  = 100     // reference/views/home-tab-views, reference/views/modal-views
	maxMetadata    = 3_000   // same pages
	maxID          = 255     // of a callback_id, block_id or action_id (same pages, reference/block-kit/blocks)
	maxModalTitle  = 24      // also of its submit and close (reference/views/modal-views)
	maxHeader      = 150     // reference/block-kit/blocks/header-block
	maxContext     = 10      // elements: reference/block-kit/blocks/context-block
	maxLabel       = 2_000   // also of a hint: reference/block-kit/blocks/input-block
	maxValue       = 2_000   // reference/block-kit/block-elements/button-element
	maxPlaceholder = 150     // reference/block-kit/block-elements/plain-text-input-element
	maxInitial     = 3_000   // max_length "must be between 0 and 3000" (same page); of an initial_value that is a judgement

	// reference/block-kit/composition-objects/confirmation-dialog-object
	maxConfirmTitle  = 100
	maxConfirmText   = 300
	maxConfirmButton = 30
)

type viewFields struct {
	Type                 string
	Title, Submit, Close *slack.TextBlockObject
	Blocks               slack.Blocks
	PrivateMetadata      string `json:"private_metadata"`
	CallbackID           string `json:"callback_id"`
}

// checkView decodes a view, or refuses it with invalid_arguments and a JSON pointer (as seen in slackapi/node-slack-sdk#875).
func checkView(raw, kind string) (v viewFields) {
	refuse := func(fault, at string) {
		refuseIf(fault != "", "invalid_arguments", fmt.Sprintf("[ERROR] %s [json-pointer:/view%s]", fault, at))
	}
	refuseIf(len(raw) > maxView, "view_too_large")
	refuseIf(json.Unmarshal([]byte(raw), &v) != nil, "invalid_arguments")
	if v.Type != kind {
		refuse("unexpected type", "/type")
	}
	refuse(tooLong(v.PrivateMetadata, maxMetadata), "/private_metadata")
	refuse(tooLong(v.CallbackID, maxID), "/callback_id")
	if n := len(v.Blocks.BlockSet); n > maxViewBlocks {
		refuse(fmt.Sprintf("no more than %d items allowed", maxViewBlocks), "/blocks")
	}
	if kind == "modal" {
		refuse(checkPlain(v.Title, maxModalTitle), "/title")
		for at, text := range map[string]*slack.TextBlockObject{"/submit": v.Submit, "/close": v.Close} {
			if text != nil {
				refuse(checkPlain(text, maxModalTitle), at)
			}
		}
	}
	ids := map[string]bool{}
	for i, b := range v.Blocks.BlockSet {
		at := fmt.Sprintf("/blocks/%d", i)
		if id := b.ID(); id != "" {
			refuse(tooLong(id, maxID), at)
			refuseIf(ids[id], "invalid_arguments", "[ERROR] the block_id "+id+" is not unique")
			ids[id] = true
		}
		refuse(checkViewBlock(b, kind), at)
		if b.BlockType() == slack.MBTInput && v.Submit == nil {
			refuse("must define `submit` to use an `input` block in modals", at)
		}
	}
	return v
}

// checkViewBlock returns what is wrong with a block of a view; "" if nothing is. The double supports those below.
func checkViewBlock(b slack.Block, kind string) string {
	fault := ""
	switch b := b.(type) {
	case *slack.DividerBlock:
		return ""
	case *slack.HeaderBlock:
		return checkPlain(b.Text, maxHeader)
	case *slack.SectionBlock:
		fault = checkText(b.Text, maxSection)
	case *slack.ContextBlock:
		if n := len(b.ContextElements.Elements); n == 0 || n > maxContext {
			return fmt.Sprintf("must have 1 to %d elements", maxContext)
		}
		for _, e := range b.ContextElements.Elements {
			text, ok := e.(*slack.TextBlockObject)
			if !ok {
				return "unsupported element"
			}
			fault += checkText(text, maxSection)
		}
	case *slack.ActionBlock:
		if n := len(elementsOf(b)); n == 0 || n > maxElements {
			return fmt.Sprintf("must have 1 to %d elements", maxElements)
		}
	case *slack.InputBlock:
		fault = checkPlain(b.Label, maxLabel)
		if b.Hint != nil {
			fault += checkPlain(b.Hint, maxLabel)
		}
		if _, ok := b.Element.(*slack.PlainTextInputBlockElement); !ok || kind != "modal" {
			return "unsupported input"
		}
	default:
		return "unsupported type: " + string(b.BlockType())
	}
	ids := map[string]bool{}
	for _, e := range elementsOf(b) {
		id, wrong := identityOf(e)
		if ids[id] {
			wrong = "the action_id " + id + " is not unique in its block"
		}
		ids[id] = true
		fault += tooLong(id, maxID) + wrong
	}
	return fault
}

// elementsOf returns the interactive elements of a block.
func elementsOf(b slack.Block) (all []slack.BlockElement) {
	switch b := b.(type) {
	case *slack.SectionBlock:
		if b.Accessory == nil {
			return nil
		}
		if b.Accessory.ButtonElement != nil {
			all = append(all, b.Accessory.ButtonElement)
		}
		if b.Accessory.SelectElement != nil {
			all = append(all, b.Accessory.SelectElement)
		}
	case *slack.ActionBlock:
		if b.Elements != nil {
			all = b.Elements.ElementSet
		}
	case *slack.InputBlock:
		all = append(all, b.Element)
	}
	return all
}

// identityOf returns the action_id of an element, and what is wrong with the element; "" if nothing is.
func identityOf(e slack.BlockElement) (id, fault string) {
	switch e := e.(type) {
	case *slack.ButtonBlockElement:
		fault = checkPlain(e.Text, maxButton) + tooLong(e.Value, maxValue)
		if c := e.Confirm; c != nil {
			fault += checkPlain(c.Title, maxConfirmTitle) + checkText(c.Text, maxConfirmText) + checkPlain(c.Confirm, maxConfirmButton) + checkPlain(c.Deny, maxConfirmButton)
		}
		return e.ActionID, fault
	case *slack.SelectBlockElement:
		if e.Type != slack.OptTypeConversations {
			return e.ActionID, "unsupported menu: " + e.Type
		}
		return e.ActionID, checkPlain(e.Placeholder, maxPlaceholder)
	case *slack.PlainTextInputBlockElement:
		if e.Placeholder != nil {
			fault = checkPlain(e.Placeholder, maxPlaceholder)
		}
		if e.MaxLength > maxInitial {
			fault += fmt.Sprintf("max_length must be at most %d", maxInitial)
		}
		return e.ActionID, fault + tooLong(e.InitialValue, maxInitial)
	}
	return "", "unsupported element: " + string(e.ElementType())
}

// checkPlain is checkText for a text that must be plain.
func checkPlain(text *slack.TextBlockObject, limit int) string {
	if text != nil && text.Type != slack.PlainTextType {
		return "must be plain_text"
	}
	return checkText(text, limit)
}

func tooLong(text string, limit int) string {
	if utf8.RuneCountInString(text) > limit {
		return fmt.Sprintf("must be less than %d characters", limit+1)
	}
	return ""
}

// textsOf returns the texts of a block, those of its elements among them.
func textsOf(b slack.Block) (lines []string) {
	add := func(text *slack.TextBlockObject) {
		if text != nil {
			lines = append(lines, text.Text)
		}
	}
	switch b := b.(type) {
	case *slack.HeaderBlock:
		add(b.Text)
	case *slack.SectionBlock:
		add(b.Text)
	case *slack.ContextBlock:
		for _, e := range b.ContextElements.Elements {
			if text, ok := e.(*slack.TextBlockObject); ok {
				add(text)
			}
		}
	case *slack.InputBlock:
		add(b.Label)
		add(b.Hint)
	}
	var buttons []string
	for _, e := range elementsOf(b) {
		if button, ok := e.(*slack.ButtonBlockElement); ok {
			buttons = append(buttons, "["+button.Text.Text+"]")
		}
	}
	if len(buttons) > 0 {
		lines = append(lines, strings.Join(buttons, " "))
	}
	return lines
}
