// Parts: one form for what apps build their messages of. Slack's blocks and attachments and Discord's embeds and
// components become parts, and parts become text for a model.

package platform

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Part is a piece of an app's message. Only the fields that it needs are set; they are rendered in this order.
type Part struct {
	Heading string
	Link    string // of the heading
	Text    string
	Fields  []Field
	Table   [][]string // the first row has the headers
	Media   string     // image, video or file, which Label describes
	Label   string
	Buttons []string // labels of buttons, and of what else people can choose
	Quoted  bool     // Parts are quoted
	Code    bool     // Text is code
	Parts   []Part
}

// Field is a value with its name.
type Field struct{ Name, Value string }

// Limits against hostile input. Slack accepts about 13 000 bytes of blocks, Discord 6 000 characters of embeds.
const (
	MaxPartDepth = 12     // levels of parts
	maxPartText  = 20_000 // bytes of a rendered message
)

// RenderParts returns the text of parts, a line or more for each that is not empty.
func RenderParts(parts []Part) string {
	r := partRenderer{room: maxPartText}
	r.parts(parts, "", 0)
	return strings.Join(r.lines, "\n")
}

type partRenderer struct {
	lines []string
	room  int // bytes
}

// add adds the lines of a text, each after the prefix, unless the text is blank.
func (r *partRenderer) add(prefix, text string) {
	text = strings.Trim(text, "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		if r.room <= 0 {
			return
		}
		line = strings.TrimRightFunc(prefix+line, unicode.IsSpace)
		if len(line) > r.room {
			line = strings.ToValidUTF8(line[:r.room], "") + "…"
		}
		r.room -= len(line) + 1
		r.lines = append(r.lines, line)
	}
}

func (r *partRenderer) parts(parts []Part, prefix string, depth int) {
	if depth > MaxPartDepth {
		return
	}
	for _, p := range parts {
		if r.room <= 0 {
			return
		}
		r.part(p, prefix, depth)
	}
}

func (r *partRenderer) part(p Part, prefix string, depth int) {
	heading := strings.TrimSpace(p.Heading)
	if p.Link != "" && p.Link != heading {
		heading = strings.TrimSpace(heading + " (" + p.Link + ")")
	}
	r.add(prefix, heading)
	if p.Code && strings.TrimSpace(p.Text) != "" {
		p.Text = "```\n" + strings.Trim(p.Text, "\n") + "\n```"
	}
	r.add(prefix, p.Text)
	for _, f := range p.Fields {
		r.add(prefix, JoinField(f.Name, f.Value))
	}
	for i, row := range p.Table {
		r.add(prefix, tableRow(row))
		if i == 0 && len(p.Table) > 1 && len(row) > 0 {
			r.add(prefix, "|"+strings.Repeat(" --- |", len(row)))
		}
	}
	if label := strings.TrimSpace(p.Label); p.Media != "" && label != "" {
		r.add(prefix, "["+p.Media+": "+label+"]")
	} else if p.Media != "" {
		r.add(prefix, "["+p.Media+"]")
	}
	if labels := notBlank(p.Buttons); len(labels) > 0 {
		r.add(prefix, "[buttons: "+strings.Join(labels, " / ")+"]")
	}
	if p.Quoted {
		prefix += "> "
	}
	r.parts(p.Parts, prefix, depth+1)
}

// OnlyText returns parts without media and buttons.
func OnlyText(parts []Part) (texts []Part) {
	for _, p := range parts {
		p.Media = ""
		p.Label = ""
		p.Buttons = nil
		p.Parts = OnlyText(p.Parts)
		texts = append(texts, p)
	}
	return texts
}

func notBlank(texts []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return strings.TrimSpace(t) == "" })
}

// JoinField returns "name: value", or just the one that is not empty.
func JoinField(name, value string) string {
	name = strings.TrimSpace(name)
	value = strings.TrimSpace(value)
	switch {
	case name == "" || value == "":
		return name + value
	case strings.HasSuffix(name, ":"):
		return name + " " + value
	}
	return name + ": " + value
}

var cellText = strings.NewReplacer("|", `\|`, "\r", " ", "\n", " ")

func tableRow(cells []string) string {
	if len(notBlank(cells)) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("|")
	for _, c := range cells {
		b.WriteString(" " + cellText.Replace(strings.TrimSpace(c)) + " |")
	}
	return b.String()
}

// textKeys are the keys under which unknown objects have text for people, in the order in which it is read.
var textKeys = []string{
	"pretext", "author_name", "title", "name", "label", "subtitle", "heading", "text", "content", "body", "description", "details",
	"caption", "alt_text", "value", "status", "output", "fields", "components", "elements", "subtext", "hint", "placeholder", "footer",
}

// UnknownPart returns what an object of an unknown kind has of text: below any key, but strings only of keys that name text. Objects
// within it are converted by convert, which reports whether it knows their kind.
func UnknownPart(object map[string]any, depth int, convert func(object map[string]any, depth int) (Part, bool)) (p Part) {
	if depth > MaxPartDepth {
		return p
	}
	var walk func(key string, value any, depth int)
	walk = func(key string, value any, depth int) {
		if depth > MaxPartDepth {
			return
		}
		switch value := value.(type) {
		case string:
			if slices.Contains(textKeys, key) {
				p.Parts = append(p.Parts, Part{Text: value})
			}
		case []any:
			for _, v := range value {
				walk(key, v, depth+1)
			}
		case map[string]any:
			inner, known := convert(value, depth+1)
			if !known {
				inner = UnknownPart(value, depth+1, convert)
			}
			p.Parts = append(p.Parts, inner)
		}
	}
	for _, key := range orderedKeys(object) {
		if key != "fallback" && !strings.Contains(key, "icon") {
			walk(key, object[key], depth)
		}
	}
	if fallback := object["fallback"]; fallback != nil && RenderParts(p.Parts) == "" {
		if text, ok := fallback.(string); ok {
			return Part{Text: text}
		}
		walk("fallback", fallback, depth)
	}
	return p
}

// orderedKeys returns the keys of an object: those of textKeys first.
func orderedKeys(object map[string]any) []string {
	place := func(key string) int {
		if i := slices.Index(textKeys, key); i >= 0 {
			return i
		}
		return len(textKeys)
	}
	return slices.SortedFunc(maps.Keys(object), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	})
}

// Contains reports whether a text has every line of another one, apart from space, punctuation and case.
func Contains(text, other string) bool {
	text = lettersOf(text)
	for line := range strings.Lines(other) {
		if !strings.Contains(text, lettersOf(line)) {
			return false
		}
	}
	return true
}

func lettersOf(text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsSymbol(r) && r < 0x2000 {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}

// StringIn returns a string or number of an object as text.
func StringIn(object map[string]any, key string) string {
	switch v := object[key].(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// ObjectsIn returns the objects of a list.
func ObjectsIn(list any) (all []map[string]any) {
	values, _ := list.([]any)
	for _, v := range values {
		if object, ok := v.(map[string]any); ok {
			all = append(all, object)
		}
	}
	return all
}
