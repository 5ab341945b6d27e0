// Arguments of calls that are not JSON: their values, and the types that the schema of a tool gives to texts.

package clean

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"cairn/internal/lazy"
)

// encode returns arguments as JSON.
func encode(arguments map[string]any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(arguments) != nil {
		return "{}"
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// schema is the part of a JSON Schema that gives types to arguments.
type schema struct {
	Type       json.RawMessage
	AnyOf      []schema
	OneOf      []schema
	Properties map[string]schema
	Required   []string
}

func (s schema) types() (all []string) {
	var one string
	if json.Unmarshal(s.Type, &one) == nil && one != "" {
		all = append(all, one)
	}
	var several []string
	if json.Unmarshal(s.Type, &several) == nil {
		all = append(all, several...)
	}
	for _, of := range slices.Concat(s.AnyOf, s.OneOf) {
		all = append(all, of.types()...)
	}
	return all
}

func (p *parser) schemaOf(tool string) (s schema) {
	if t := p.tool(tool); t != nil {
		_ = json.Unmarshal(t.Parameters, &s) // without a schema, arguments have no types
	}
	return s
}

// onlyArgument returns the name of the argument that a value without a name is for.
func (p *parser) onlyArgument(tool string) (name string, ok bool) {
	s := p.schemaOf(tool)
	if len(s.Required) == 1 {
		return s.Required[0], true
	}
	for name := range s.Properties {
		return name, len(s.Properties) == 1
	}
	return "", false
}

// typed returns the value of an argument that was written as text. Without a type in the schema it is JSON if it can be,
// but no JSON string.
func (p *parser) typed(tool, argument, text string) any {
	types := p.schemaOf(tool).Properties[argument].types()
	trimmed := strings.TrimSpace(text)
	var value any
	decoder := json.NewDecoder(strings.NewReader(trimmed))
	decoder.UseNumber()
	isJSON := decoder.Decode(&value) == nil && decoder.InputOffset() == int64(len(trimmed))
	if !isJSON {
		value = map[string]any{"True": true, "False": false, "None": nil}[trimmed]
		isJSON = trimmed == "True" || trimmed == "False" || trimmed == "None"
	}
	if !isJSON {
		return text
	}
	if len(types) == 0 {
		if _, isString := value.(string); isString {
			return text
		}
		return value
	}
	if slices.Contains(types, typeOf(value)) || typeOf(value) == "number" && slices.Contains(types, "integer") {
		if _, isString := value.(string); isString {
			return text
		}
		return value
	}
	return text
}

func typeOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

var number = lazy.Pattern(`^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?`)

// quotes are the marks around strings in calls: of programs, of Gemma 4, of FunctionGemma.
var quotes = []string{`"""`, `'''`, `<|"|>`, "<escape>", `"`, "'"}

// maxDepth limits how deep values are nested.
const maxDepth = 32

// looseValue reads a value as in Python, or with Gemma's marks around strings, at the front of a text.
func looseValue(text string, depth int) (value any, rest string, ok bool) {
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	if text == "" || depth > maxDepth {
		return nil, text, false
	}
	for _, quote := range quotes {
		if strings.HasPrefix(text, quote) {
			return looseString(text[len(quote):], quote)
		}
	}
	switch text[0] {
	case '[', '(':
		return looseList(text, depth)
	case '{':
		return looseObject(text, depth)
	}
	if digits := number().FindString(text); digits != "" {
		return json.Number(digits), text[len(digits):], true
	}
	name := ident().FindString(text)
	switch name {
	case "True", "true":
		return true, text[len(name):], true
	case "False", "false":
		return false, text[len(name):], true
	case "None", "null":
		return nil, text[len(name):], true
	}
	return nil, text, false
}

func looseString(text, quote string) (value any, rest string, ok bool) {
	if quote[0] == '<' {
		inside, after, found := strings.Cut(text, quote)
		return inside, after, found
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], quote):
			return b.String(), text[i+len(quote):], true
		case text[i] == '\\' && i+1 < len(text):
			r, _, tail, err := strconv.UnquoteChar(text[i:], quote[0])
			if err != nil {
				b.WriteByte(text[i])
				continue
			}
			b.WriteRune(r)
			i = len(text) - len(tail) - 1
		default:
			b.WriteByte(text[i])
		}
	}
	return nil, text, false
}

func looseList(text string, depth int) (value any, rest string, ok bool) {
	end := map[byte]string{'[': "]", '(': ")"}[text[0]]
	all := []any{}
	rest = text[1:]
	for {
		rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		if after, ok := strings.CutPrefix(rest, end); ok {
			return all, after, true
		}
		one, after, ok := looseValue(rest, depth+1)
		if !ok {
			return nil, text, false
		}
		all = append(all, one)
		rest = strings.TrimLeftFunc(after, unicode.IsSpace)
		if after, ok := strings.CutPrefix(rest, ","); ok {
			rest = after
		} else if !strings.HasPrefix(rest, end) {
			return nil, text, false
		}
	}
}

func looseObject(text string, depth int) (value any, rest string, ok bool) {
	all := make(map[string]any)
	rest = text[1:]
	for {
		rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		if after, ok := strings.CutPrefix(rest, "}"); ok {
			return all, after, true
		}
		key := ident().FindString(rest)
		rest = rest[len(key):]
		if key == "" {
			written, after, ok := looseValue(rest, depth+1)
			name, isString := written.(string)
			if !ok || !isString {
				return nil, text, false
			}
			key = name
			rest = after
		}
		after, ok := strings.CutPrefix(strings.TrimLeftFunc(rest, unicode.IsSpace), ":")
		if !ok {
			return nil, text, false
		}
		one, after, ok := looseValue(after, depth+1)
		if !ok {
			return nil, text, false
		}
		all[key] = one
		rest = strings.TrimLeftFunc(after, unicode.IsSpace)
		if after, ok := strings.CutPrefix(rest, ","); ok {
			rest = after
		} else if !strings.HasPrefix(rest, "}") {
			return nil, text, false
		}
	}
}
