// Small models write their summary as JSON where none is requested: as a string, a list of lines, an
// object by heading, the arguments of a call, or one of these inside another.

package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cairn/compactor/summarize"
	"cairn/internal/lazy"
)

// jsonLine matches where a line begins that may be JSON.
var jsonLine = lazy.Pattern(`(?m)^[ \t]*[{\[]`)

// outOfJSON takes a summary out of JSON that is the full text, or all of it but an announcement and
// an offer. JSON that the people themselves wrote stays, unless it is everything.
func (j *Judge) outOfJSON(text string) (string, bool) {
	if text == "" {
		return "", false
	}
	at := 0
	if !strings.ContainsRune(`{["`, rune(text[0])) {
		found := jsonLine().FindStringIndex(text)
		if found == nil {
			return "", false
		}
		at = found[0]
	}
	value, rest, ok := decodeJSON(text[at:])
	if !ok {
		return outOfBrokenJSON(text)
	}
	if isCall(value) {
		return "", false
	}
	before := strings.TrimSpace(text[:at])
	rest = strings.Trim(rest, " \t\r\n`~")
	inner := writtenIn(value)
	if before == "" && rest == "" {
		return inner, true
	}
	headed := summarize.HasHeadings(inner)
	before = strings.TrimSpace(summarize.Fence().ReplaceAllString(before, ""))
	framed := j.span.frames(before, headed) && j.span.frames(rest, headed)
	if at == 0 && text[0] == '"' || inner == "" || j.span.quotes(inner) || !framed && !isSummary(value) {
		return "", false
	}
	return inner, true
}

// brokenJSON matches an object with a summary alone that lacks its end, or has other marks than JSON.
var brokenJSON = lazy.Pattern(`(?s)\A\{\s*["']?(?:summary|text)["']?\s*[:=]\s*["'](.*?)["']?\s*,?\s*\}?\z`)

func outOfBrokenJSON(text string) (string, bool) {
	m := brokenJSON().FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	if inner, escaped := withLines(m[1]); escaped {
		return inner, true
	}
	return strings.ReplaceAll(m[1], `\"`, `"`), true
}

// field is a field of a JSON object; objects are decoded as []field, in their order.
type field struct {
	name  string
	value any // string, []any, []field, json.Number, bool or nil
}

// decodeJSON decodes the JSON value at the beginning of a text and returns what follows it. Line ends
// within strings, which JSON forbids, are accepted.
func decodeJSON(text string) (value any, rest string, ok bool) {
	for _, form := range []string{text, escapeLines(text)} {
		d := json.NewDecoder(strings.NewReader(form))
		d.UseNumber()
		if value, err := decodeValue(d, 0); err == nil {
			return value, form[d.InputOffset():], true
		}
	}
	return nil, "", false
}

// maxNesting is how deep JSON around a summary may be nested.
const maxNesting = 20

func decodeValue(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	mark, opens := token.(json.Delim)
	if !opens {
		return token, nil
	}
	if depth == maxNesting {
		return nil, fmt.Errorf("JSON is nested more than %d deep", maxNesting)
	}
	var list []any
	var object []field
	for d.More() {
		var name string
		if mark == '{' {
			key, err := d.Token()
			if err != nil {
				return nil, fmt.Errorf("decode JSON: %w", err)
			}
			name, _ = key.(string)
		}
		value, err := decodeValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
		object = append(object, field{name, value})
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	if mark == '{' {
		return object, nil
	}
	return list, nil
}

// escapeLines escapes the line ends and tabs within the strings of JSON.
func escapeLines(text string) string {
	var b strings.Builder
	inside := false
	escaped := false
	for _, r := range text {
		switch {
		case inside && r == '\n':
			b.WriteString(`\n`)
		case inside && r == '\r':
		case inside && r == '\t':
			b.WriteString(`\t`)
		default:
			b.WriteRune(r)
		}
		if r == '"' && !escaped {
			inside = !inside
		}
		escaped = r == '\\' && !escaped
	}
	return b.String()
}

// summaryFields are the names under which models put a summary, the likeliest first.
var summaryFields = []string{"summary", "text", "content", "arguments", "parameters", "function", "tool_calls", "input", "output", "result", "answer", "response", "message", "final"}

// named returns the value of the first field with this name, ignoring case.
func named(object []field, name string) any {
	for _, f := range object {
		if strings.EqualFold(f.name, name) {
			return f.value
		}
	}
	return nil
}

// isSummary reports whether JSON says itself that it is a summary.
func isSummary(value any) bool {
	object, _ := value.([]field)
	return named(object, "summary") != nil || named(object, "name") == "summarize"
}

// isCall reports whether JSON is the call of a tool other than the one that hands in a summary, or a
// list with one.
func isCall(value any) bool {
	if list, isList := value.([]any); isList {
		return slices.ContainsFunc(list, isCall)
	}
	object, isObject := value.([]field)
	if !isObject {
		return false
	}
	name, called := firstOf(object, "name", "function").(string)
	return called && name != "summarize" && firstOf(object, "arguments", "parameters") != nil ||
		isCall(named(object, "function")) || isCall(named(object, "tool_calls"))
}

// writtenIn returns the text in a JSON value; "" if it has none.
func writtenIn(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case []any:
		return strings.Join(linesOf(value), "\n")
	case []field:
		return textOfObject(value)
	}
	return ""
}

func textOfObject(object []field) string {
	var parts []string
	for _, f := range object {
		at, known := summarize.HeadingNamed(f.name)
		if !known {
			continue
		}
		if lines := listed(f.value); lines != "" {
			parts = append(parts, "## "+summarize.Headings[at]+"\n"+lines)
		}
	}
	if len(parts) > 0 {
		return strings.Join(parts, "\n")
	}
	if title, isText := firstOf(object, "heading", "title", "section").(string); isText {
		if lines := listed(firstOf(object, "items", "lines", "points", "content", "text")); lines != "" {
			return "## " + title + "\n" + lines
		}
	}
	for _, name := range summaryFields {
		if text := writtenIn(named(object, name)); text != "" {
			return text + citationOf(object)
		}
	}
	var texts []string
	for _, f := range object {
		if text := writtenIn(f.value); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, ": ")
}

func firstOf(object []field, names ...string) any {
	for _, name := range names {
		if value := named(object, name); value != nil {
			return value
		}
	}
	return nil
}

// citationOf returns the messages that an object gives as sources of its text, as a summary cites them.
func citationOf(object []field) string {
	list, _ := firstOf(object, "messages", "message_ids", "ids", "sources", "citations").([]any)
	var seqs []string
	for _, seq := range list {
		if n, isNumber := seq.(json.Number); isNumber {
			seqs = append(seqs, "#"+n.String())
		}
	}
	if len(seqs) == 0 {
		return ""
	}
	return " (" + strings.Join(seqs, ", ") + ")"
}

// listed returns the lines of a value that is under a heading, each as a list item.
func listed(value any) string {
	lines := []string{writtenIn(value)}
	if list, isList := value.([]any); isList {
		lines = linesOf(list)
	}
	var items []string
	for line := range strings.Lines(strings.Join(lines, "\n")) {
		line = strings.TrimRight(line, " \t\n")
		if line != "" && !summarize.Bullet().MatchString(line) {
			line = "- " + line
		}
		items = append(items, line)
	}
	return strings.Join(slices.DeleteFunc(items, func(line string) bool { return line == "" }), "\n")
}

func linesOf(list []any) (lines []string) {
	for _, value := range list {
		if text := writtenIn(value); text != "" {
			lines = append(lines, text)
		}
	}
	return lines
}
