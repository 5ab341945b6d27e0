// Blocks and attachments of messages become parts, whose texts have Slack's markup (reference/block-kit/blocks,
// reference/messaging/attachments). Values of an unexpected form are ignored, kinds of blocks that are unknown are not.

package slack

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"cairn/connector/platform"
)

// forwarded is a message that another one forwards, or what an app attached to its message.
type forwarded struct {
	Pretext, Title, Text, Fallback, Footer string
	TitleLink                              string `json:"title_link"`
	Author                                 string `json:"author_name"`
	Image                                  string `json:"image_url"`
	Shared                                 bool   `json:"is_share"`
	Preview                                string `json:"from_url"` // of this link
	Fields                                 []struct{ Title, Value string }
	Actions                                []any
	Blocks                                 []any
	MessageBlocks                          []struct{ Message struct{ Blocks []any } } `json:"message_blocks"` // of a forwarded message
}

// withForwarded returns the text of a message, followed by what it forwards, and by what an app attached to it; previews of links
// do not count.
func withForwarded(m message) string {
	if m.isHuddle() {
		return m.Room.text()
	}
	text := withBlocks(m.Text, m.Blocks)
	for _, a := range m.Attachments {
		if !a.Shared && (a.Preview != "" || m.BotID == "") {
			continue
		}
		if attached := a.render(); attached != "" && !contains(text, attached) {
			text = strings.TrimPrefix(text+"\n"+attached, "\n")
		}
	}
	return text
}

// withBlocks returns what people see of a message or an attachment: its blocks. Its text counts if it has all their words, as that of
// people does, or if they have none.
func withBlocks(text string, blocks []any) string {
	parts := blockParts(blocks, 0)
	rendered := platform.RenderParts(parts)
	switch {
	case rendered == "" || contains(text, rendered):
		return text
	case strings.TrimSpace(text) != "" && platform.RenderParts(platform.OnlyText(parts)) == "":
		return text + "\n" + rendered
	}
	return rendered
}

// labeledMention matches a mention with the name that somebody, or a group, had when it was written.
var labeledMention = regexp.MustCompile(`<([@#!](?:subteam\^)?\w+)\|[^<>]*>`)

// contains reports whether a text has the words of another one.
func contains(text, other string) bool {
	plain := func(text string) string { return entities.Replace(labeledMention.ReplaceAllString(text, "<$1>")) }
	return platform.Contains(plain(text), plain(other))
}

// render returns the text of an attachment. Its fallback counts only if it has nothing else.
func (a forwarded) render() string {
	text := a.Text
	for _, m := range a.MessageBlocks {
		text = withBlocks(text, m.Message.Blocks)
	}
	if a.Author != "" && a.Title == "" && text != "" {
		text = a.Author + ": " + text
		a.Author = ""
	}
	body := platform.Part{Heading: a.Title, Link: a.TitleLink, Text: text}
	for _, f := range a.Fields {
		body.Fields = append(body.Fields, platform.Field{Name: f.Title, Value: f.Value})
	}
	if a.Image != "" && a.Title == "" {
		body.Media = "image"
	}
	for _, b := range platform.ObjectsIn(a.Actions) {
		body.Buttons = append(body.Buttons, platform.StringIn(b, "text"))
	}
	if blocks := blockParts(a.Blocks, 0); platform.RenderParts(blocks) != "" { // Slack shows them instead
		body = platform.Part{Parts: blocks}
		if a.Author != "" || a.Shared {
			body = platform.Part{Text: withBlocks(text, a.Blocks)}
		}
	}
	return cmp.Or(platform.RenderParts([]platform.Part{{Text: a.Pretext}, {Text: a.Author}, body, {Text: a.Footer}}), a.Fallback)
}

func blockParts(list any, depth int) (parts []platform.Part) {
	for _, b := range platform.ObjectsIn(list) {
		p, known := blockPart(b, depth)
		if !known {
			p = platform.UnknownPart(b, depth, blockPart)
		}
		parts = append(parts, p)
	}
	return parts
}

// blockPart converts a block, an element of one, or an object in it; known is false if the order of its texts says it all.
func blockPart(b map[string]any, depth int) (p platform.Part, known bool) {
	if depth > platform.MaxPartDepth {
		return p, true
	}
	switch kind := platform.StringIn(b, "type"); kind {
	case "divider":
	case "header":
		p.Heading = textOf(b["text"])
	case "mrkdwn", "plain_text":
		p.Text = platform.StringIn(b, "text")
	case "markdown":
		p.Text = literal(platform.StringIn(b, "text"))
	case "rich_text":
		p.Parts = richParts(b["elements"], depth+1)
	case "image", "video", "file":
		p = mediaPart(kind, b)
	case "table", "data_table":
		p.Text = platform.StringIn(b, "caption")
		p.Parts = []platform.Part{{Table: tableRows(b["rows"], depth+1)}}
	case "data_visualization":
		chart, _ := b["chart"].(map[string]any)
		p.Heading = platform.StringIn(b, "title")
		p.Parts = []platform.Part{{Table: chartTable(chart)}}
	case "actions", "context_actions":
		p.Buttons = buttonLabels(b["elements"])
	case "context":
		p.Text = contextLine(blockParts(b["elements"], depth+1))
	case "url", "url_source":
		p.Text = "<" + platform.StringIn(b, "url") + "|" + platform.StringIn(b, "text") + ">"
	default:
		if labels := buttonLabels([]any{b}); len(labels) > 0 && isElement(kind) {
			return platform.Part{Buttons: labels}, true
		}
		return p, false
	}
	return p, true
}

// isElement reports whether an object is something to press or to fill in (reference/block-kit/block-elements).
func isElement(kind string) bool {
	for _, ending := range []string{"button", "buttons", "_select", "_input", "picker", "checkboxes", "overflow", "_button"} {
		if strings.HasSuffix(kind, ending) {
			return true
		}
	}
	return false
}

// textOf returns the text of a text object, or the text itself.
func textOf(text any) string {
	switch text := text.(type) {
	case string:
		return text
	case map[string]any:
		return platform.StringIn(text, "text")
	}
	return ""
}

func mediaPart(kind string, b map[string]any) platform.Part {
	title := textOf(b["title"])
	alt := platform.StringIn(b, "alt_text")
	p := platform.Part{Media: kind, Label: cmp.Or(title, alt), Text: textOf(b["description"])}
	if title != "" && alt != "" && !contains(title, alt) {
		p.Label = title + ": " + alt
	}
	if address := platform.StringIn(b, "title_url"); address != "" {
		p.Label += " (" + address + ")"
	}
	if kind == "file" && p.Label == "" { // it comes with the message's files
		return platform.Part{}
	}
	return p
}

// contextLine joins the elements of a context on one line, as Slack shows them.
func contextLine(parts []platform.Part) string {
	var texts []string
	for _, p := range parts {
		if text := platform.RenderParts([]platform.Part{p}); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, " ")
}

// buttonLabels returns the labels of buttons, and of options and placeholders of what else people choose from.
func buttonLabels(list any) (labels []string) {
	for _, e := range platform.ObjectsIn(list) {
		label := cmp.Or(textOf(e["text"]), textOf(e["placeholder"]), textOf(e["label"]))
		var options []string
		for _, o := range platform.ObjectsIn(e["options"]) {
			options = append(options, textOf(o["text"]))
		}
		label = platform.JoinField(label, strings.Join(options, ", "))
		if label != "" {
			labels = append(labels, label)
		}
		for _, inner := range []string{"positive_button", "negative_button"} {
			labels = append(labels, buttonLabels([]any{e[inner]})...)
		}
	}
	return labels
}

// labeledLink matches a link with a label, whose | would end a cell.
var labeledLink = regexp.MustCompile(`<([^<>|]+)\|([^<>]+)>`)

func tableRows(rows any, depth int) (table [][]string) {
	list, _ := rows.([]any)
	for _, row := range list {
		var cells []string
		for _, cell := range platform.ObjectsIn(row) {
			text := literal(platform.StringIn(cell, "text"))
			switch platform.StringIn(cell, "type") {
			case "raw_text":
			case "raw_number":
				text = cmp.Or(text, platform.StringIn(cell, "value"))
			case "rich_text":
				text = platform.RenderParts(richParts(cell["elements"], depth+1))
			default:
				text = platform.RenderParts(blockParts([]any{cell}, depth+1))
			}
			cells = append(cells, labeledLink.ReplaceAllString(text, "$2 ($1)"))
		}
		table = append(table, cells)
	}
	return table
}

// chartTable returns the numbers of a chart: a row for each label, a column for each series.
func chartTable(chart map[string]any) [][]string {
	axis, _ := chart["axis_config"].(map[string]any)
	header := []string{platform.StringIn(axis, "x_label"), platform.StringIn(axis, "y_label")}
	rows := map[string][]string{}
	var labels []string
	series := platform.ObjectsIn(chart["series"])
	if len(series) > 0 {
		header = header[:1]
	} else {
		series = []map[string]any{{"data": chart["segments"]}}
	}
	const maxSeries = 20
	for i, s := range series[:min(len(series), maxSeries)] {
		if name := platform.StringIn(s, "name"); name != "" {
			header = append(header, name)
		}
		for _, point := range platform.ObjectsIn(s["data"]) {
			label := platform.StringIn(point, "label")
			if rows[label] == nil {
				labels = append(labels, label)
				rows[label] = []string{label}
			}
			for len(rows[label]) <= i {
				rows[label] = append(rows[label], "")
			}
			rows[label] = append(rows[label], platform.StringIn(point, "value"))
		}
	}
	if len(labels) == 0 {
		return nil
	}
	table := [][]string{header}
	for _, label := range labels {
		table = append(table, rows[label])
	}
	return table
}

var markupEscapes = strings.NewReplacer("<", "&lt;", ">", "&gt;")

// literal escapes a text that Slack does not escape, so that nothing in it is read as markup.
func literal(text string) string { return markupEscapes.Replace(text) }

// listMark returns what a list item begins with.
func listMark(style string, n, indent int) string {
	mark := "• "
	if style == "ordered" {
		mark = fmt.Sprint(n, ". ")
	}
	return strings.Repeat("    ", min(max(indent, 0), 8)) + mark
}
