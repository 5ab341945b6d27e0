// Values of arguments that are not JSON: as in Python, or with marks of a template around strings.

package clean

import (
	"bytes"
	"encoding/json"
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
