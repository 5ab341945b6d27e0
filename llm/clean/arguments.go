// Arguments of calls in markup: their names, and the types that the schema of a tool gives to their texts.

package clean

import (
	"encoding/json"
	"html"
	"slices"
	"strings"

	"cairn/internal/lazy"
)

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

// schemaOf returns the schema of a tool. Without one, arguments have no types.
func (o offered) schemaOf(tool string) (s schema) {
	if t := o.tool(tool); t != nil {
		_ = json.Unmarshal(t.Parameters, &s)
	}
	return s
}

// onlyArgument returns the name of the argument that a value without a name is for.
func (o offered) onlyArgument(tool string) (name string, ok bool) {
	s := o.schemaOf(tool)
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
func (o offered) typed(tool, argument, text string) any {
	types := o.schemaOf(tool).Properties[argument].types()
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

var (
	// argumentMark matches the mark that begins an argument, in all forms: <parameter=word>, <parameter name="word">,
	// <｜DSML｜parameter name="word" string="true">, <|open|>argument key="word" type="string"<|sep|>, <arg_key>word</arg_key>.
	// Its groups: the name, by form.
	argumentMark = lazy.Pattern(`^(?:<(?:[\w:｜|‖]*[:｜|‖])?param(?:eter)?(?:=|\s+name=)["']?([^"'>\s]+)["']?([^>]*)>|` +
		`<\|open\|>\s*argument\s+key="([^"]*)"([^<]*)<\|sep\|>|<(?:longcat_)?arg_key(?::\w+)?>\s*([^<]*?)\s*</(?:longcat_)?arg_key(?::\w+)?>\s*<(?:longcat_)?arg_value(?::\w+)?>)`)

	// argumentEnd matches the mark that ends an argument, or begins the next or ends the call if that is missing.
	argumentEnd = lazy.Pattern(`</(?:[\w:｜|‖]*[:｜|‖])?param(?:eter)?>|<\|close\|>\s*argument\s*<\|sep\|>|</(?:longcat_)?arg_value(?::\w+)?>|` +
		`<parameter=|</function>|</tool_call>|</(?:[\w:｜|‖]*[:｜|‖])?invoke>`)

	// childElement matches the first mark of an argument that is an element of its own: <city>Paris</city>.
	childElement = lazy.Pattern(`^\s*<([A-Za-z_][\w.-]*)>`)

	// elementAttribute matches an attribute of an element.
	elementAttribute = lazy.Pattern(`([\w.-]+)\s*=\s*"([^"]*)"`)
)

// arguments reads the arguments at the front of a text, with the types that the tool's schema gives them. It returns what
// is behind them, too.
func (o offered) arguments(tool, text string) (all map[string]any, behind string) {
	all = make(map[string]any)
	behind = text
	for len(all) < maxCalls { // their ends are searched in all that follows
		rest := strings.TrimSpace(behind)
		at := argumentMark().FindStringSubmatchIndex(rest)
		if at == nil {
			return all, behind
		}
		group := func(n int) string {
			if at[2*n] < 0 {
				return ""
			}
			return rest[at[2*n]:at[2*n+1]]
		}
		name := html.UnescapeString(group(1) + group(3) + group(5))
		attributes := group(2) + group(4)
		value := rest[at[1]:]
		end := len(value)
		after := len(value)
		if found := argumentEnd().FindStringIndex(value); found != nil {
			end = found[0]
			after = found[1]
			if mark := value[found[0]:found[1]]; !strings.Contains(mark, "param") && !strings.Contains(mark, "arg") || mark == "<parameter=" {
				after = found[0]
			}
		}
		text := strings.TrimSuffix(strings.TrimPrefix(value[:end], "\n"), "\n")
		switch {
		case strings.Contains(attributes, `string="true"`), strings.Contains(attributes, `type="string"`):
			all[name] = text
		default:
			all[name] = o.typed(tool, name, text)
		}
		behind = value[after:]
	}
	return all, behind
}

// children reads arguments that are elements with their names: <city>Paris</city> (MiniMax M3). It returns what is behind
// them, too.
func (o offered) children(tool, text string) (all map[string]any, behind string) {
	all = make(map[string]any)
	behind = text
	for {
		at := childElement().FindStringSubmatchIndex(behind)
		if at == nil {
			return all, behind
		}
		name := behind[at[2]:at[3]]
		value, after, ok := strings.Cut(behind[at[1]:], "</"+name+">")
		if !ok {
			return all, behind
		}
		all[name] = o.typed(tool, name, value)
		behind = after
	}
}

// attributes returns the arguments in the attributes of an element.
func (o offered) attributes(tool, text string) map[string]any {
	all := make(map[string]any)
	for _, at := range elementAttribute().FindAllStringSubmatch(text, maxCalls) {
		all[at[1]] = o.typed(tool, at[1], html.UnescapeString(at[2]))
	}
	return all
}
