// Rich text: the block in which people's messages come, and parts of other blocks (reference/block-kit/blocks/rich-text-block).

package slack

import (
	"cmp"
	"strings"

	"cairn/connector/platform"
)

// richParts converts the elements of a rich text: sections, lists, quotes and code.
func richParts(list any, depth int) (parts []platform.Part) {
	if depth > platform.MaxPartDepth {
		return nil
	}
	for _, e := range platform.ObjectsIn(list) {
		switch platform.StringIn(e, "type") {
		case "rich_text_section":
			parts = append(parts, platform.Part{Text: richText(e["elements"])})
		case "rich_text_quote":
			parts = append(parts, platform.Part{Quoted: true, Parts: []platform.Part{{Text: richText(e["elements"])}}})
		case "rich_text_preformatted":
			parts = append(parts, platform.Part{Code: true, Text: richText(e["elements"])})
		case "rich_text_list":
			parts = append(parts, platform.Part{Text: richList(e, depth)})
		default:
			if text := richText([]any{e}); text != "" {
				parts = append(parts, platform.Part{Text: text})
			} else {
				parts = append(parts, blockParts([]any{e}, depth+1)...)
			}
		}
	}
	return parts
}

func richList(list map[string]any, depth int) string {
	indent, _ := list["indent"].(float64)
	offset, _ := list["offset"].(float64)
	style := platform.StringIn(list, "style")
	var lines []string
	for i, item := range platform.ObjectsIn(list["elements"]) {
		text := platform.RenderParts(richParts([]any{item}, depth+1))
		lines = append(lines, listMark(style, i+1+int(min(max(offset, 0), 1e6)), int(min(max(indent, 0), 8)))+text)
	}
	return strings.Join(lines, "\n")
}

// richText joins the elements of a line. Mentions become control sequences, which plainText resolves.
func richText(list any) string {
	var b strings.Builder
	for _, e := range platform.ObjectsIn(list) {
		text := literal(platform.StringIn(e, "text"))
		switch platform.StringIn(e, "type") {
		case "text":
		case "link":
			text = link(platform.StringIn(e, "url"), text)
		case "emoji":
			text = ":" + literal(platform.StringIn(e, "name")) + ":"
			if tone := platform.StringIn(e, "skin_tone"); tone != "" {
				text += ":skin-tone-" + literal(tone) + ":"
			}
		case "user", "canvas_user_mention":
			text = "<@" + literal(platform.StringIn(e, "user_id")) + ">"
		case "channel":
			text = "<#" + literal(platform.StringIn(e, "channel_id")) + ">"
		case "usergroup":
			text = "<!subteam^" + literal(platform.StringIn(e, "usergroup_id")) + ">"
		case "broadcast":
			text = "<!" + literal(platform.StringIn(e, "range")) + ">"
		case "date":
			text = literal(cmp.Or(platform.StringIn(e, "fallback"), platform.StringIn(e, "timestamp")))
		case "color":
			text = literal(platform.StringIn(e, "value"))
		default:
			text = link(platform.StringIn(e, "url"), cmp.Or(text, literal(cmp.Or(
				platform.StringIn(e, "label"), platform.StringIn(e, "title"), platform.StringIn(e, "name"), platform.StringIn(e, "value"),
				platform.StringIn(e, "salesforce_field_label")))))
		}
		b.WriteString(styled(text, e["style"]))
	}
	return b.String()
}

// link returns a link with a label, as Slack's markup has it.
func link(address, label string) string {
	address = literal(address)
	switch {
	case address == "":
		return label
	case label == "":
		return "<" + address + ">"
	}
	return "<" + address + "|" + strings.ReplaceAll(label, "\n", " ") + ">"
}

// styled puts a text in the marks of its style, but not the space around it.
func styled(text string, style any) string {
	styles, _ := style.(map[string]any)
	inner := strings.TrimSpace(text)
	if len(styles) == 0 || inner == "" {
		return text
	}
	before, after, _ := strings.Cut(text, inner)
	for _, s := range []struct{ name, mark string }{{"code", "`"}, {"strike", "~"}, {"italic", "_"}, {"bold", "*"}} {
		if styles[s.name] == true {
			inner = s.mark + inner + s.mark
		}
	}
	return before + inner + after
}
