// Embeds and components of apps' messages become parts (Discord, Message: Embed Object; Components: Component Reference).

package discord

import (
	"cmp"
	"net/url"
	"path"

	"cairn/connector/platform"
)

type embed struct {
	Type, Title, Description, URL string
	Author                        struct{ Name string }
	Provider                      struct{ Name string }
	Fields                        []struct{ Name, Value string }
	Footer                        struct{ Text string }
	Image, Thumbnail, Video       media
}

type media struct{ URL, Description string }

// appParts converts what an app built its message of. Files that come with the message are described there.
func appParts(m message) (parts []platform.Part) {
	files := map[string]bool{}
	for _, f := range m.Attachments {
		files[f.Filename] = true
	}
	for _, e := range m.Embeds {
		if e.Type == "rich" || e.Type == "" { // the others are previews of links
			parts = append(parts, e.part(files))
		}
	}
	return append(parts, componentParts(m.Components, 0, files)...)
}

// withoutRepetition returns the text of parts, unless the message says the same.
func withoutRepetition(content string, parts []platform.Part) string {
	text := platform.RenderParts(parts)
	if platform.Contains(content, text) {
		return ""
	}
	return text
}

func (e embed) part(files map[string]bool) platform.Part {
	p := platform.Part{Heading: e.Title, Link: e.URL, Text: e.Description}
	for _, f := range e.Fields {
		p.Fields = append(p.Fields, platform.Field{Name: f.Name, Value: f.Value})
	}
	all := []platform.Part{{Text: cmp.Or(e.Author.Name, e.Provider.Name)}, p}
	for _, m := range []media{e.Image, e.Video} {
		all = append(all, mediaPart("image", m.URL, m.Description, files))
	}
	all = append(all, platform.Part{Text: e.Footer.Text})
	if platform.RenderParts(all) == "" {
		return mediaPart("image", e.Thumbnail.URL, e.Thumbnail.Description, files)
	}
	return platform.Part{Parts: all}
}

// mediaPart describes a picture or file by its description, else by its name.
func mediaPart(kind, address, description string, files map[string]bool) platform.Part {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return platform.Part{}
	}
	name := path.Base(u.Path)
	if u.Scheme == "attachment" {
		name = u.Host + u.Path
	}
	switch {
	case description == "" && files[name]:
		return platform.Part{}
	case name == "." || name == "/":
		name = ""
	}
	return platform.Part{Media: kind, Label: cmp.Or(description, name)}
}

// Kinds of components (Discord, Components: Component Types). A container, a section and a label need no case.
const (
	actionsRow     = 1
	buttonKind     = 2
	stringSelect   = 3
	textInput      = 4
	firstIDSelect  = 5 // of people, roles, both, or channels
	lastIDSelect   = 8
	textDisplay    = 10
	thumbnail      = 11
	mediaGallery   = 12
	fileComponent  = 13
	separator      = 14
	firstFormField = 19 // file upload, and later radio buttons and checkboxes
	lastFormField  = 23
)

func componentParts(list any, depth int, files map[string]bool) (parts []platform.Part) {
	if depth > platform.MaxPartDepth {
		return nil
	}
	convert := func(c map[string]any, depth int) (platform.Part, bool) { return componentPart(c, depth, files) }
	for _, c := range platform.ObjectsIn(list) {
		p, known := convert(c, depth)
		if !known {
			p = platform.UnknownPart(c, depth, convert)
		}
		parts = append(parts, p)
	}
	return parts
}

// componentPart converts a component; known is false if the order of its texts says it all, as in a section or container.
func componentPart(c map[string]any, depth int, files map[string]bool) (p platform.Part, known bool) {
	if depth > platform.MaxPartDepth {
		return p, true
	}
	n, _ := c["type"].(float64)
	kind := int(n)
	switch kind {
	case actionsRow: // its labels share a line
		for _, inner := range componentParts(c["components"], depth+1, files) {
			p.Buttons = append(p.Buttons, inner.Buttons...)
			inner.Buttons = nil
			p.Parts = append(p.Parts, inner)
		}
	case buttonKind, stringSelect, textInput:
		p.Buttons = []string{choiceLabel(c)}
	case textDisplay:
		p.Text = platform.StringIn(c, "content")
	case thumbnail:
		p = mediaOf("image", c, "media", files)
	case fileComponent:
		p = mediaOf("file", c, "file", files)
		p.Label = cmp.Or(platform.StringIn(c, "name"), p.Label)
		if p.Media == "" || files[p.Label] {
			return platform.Part{}, true
		}
	case mediaGallery:
		for _, item := range platform.ObjectsIn(c["items"]) {
			p.Parts = append(p.Parts, mediaOf("image", item, "media", files))
		}
	case separator:
	default:
		if kind >= firstIDSelect && kind <= lastIDSelect || kind >= firstFormField && kind <= lastFormField {
			return platform.Part{Buttons: []string{choiceLabel(c)}}, true
		}
		return p, false
	}
	return p, true
}

func mediaOf(kind string, object map[string]any, key string, files map[string]bool) platform.Part {
	inner, _ := object[key].(map[string]any)
	return mediaPart(kind, platform.StringIn(inner, "url"), platform.StringIn(object, "description"), files)
}

// choiceLabel returns the label of a button with its link, or of a menu with its options.
func choiceLabel(c map[string]any) string {
	label := cmp.Or(platform.StringIn(c, "label"), platform.StringIn(c, "placeholder"))
	if emoji, ok := c["emoji"].(map[string]any); ok && label == "" {
		label = platform.StringIn(emoji, "name")
	}
	if address := platform.StringIn(c, "url"); address != "" {
		return label + " (" + address + ")"
	}
	value := platform.StringIn(c, "value")
	for _, o := range platform.ObjectsIn(c["options"]) {
		if value != "" {
			value += ", "
		}
		value += platform.StringIn(o, "label")
	}
	return platform.JoinField(label, value)
}
