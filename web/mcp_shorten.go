package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// shorten cuts a response to at most limit bytes: first long strings, then long lists, which keep
// their first entries. A shortened string says so at its end; a list is followed by KEY_left_out.
func shorten(text json.RawMessage, limit int) (json.RawMessage, error) {
	for _, limits := range [][2]int{{20_000, 1000}, {4000, 1000}, {1000, 500}, {1000, 200}, {300, 100}, {300, 30}, {300, 10}} {
		if len(text) <= limit {
			return text, nil
		}
		var v any
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(shortened(v, limits[0], limits[1])); err != nil {
			return nil, err
		}
		text = bytes.TrimSpace(b.Bytes())
	}
	if len(text) > limit {
		return nil, errors.New("the answer is too long: ask for less with limit")
	}
	return text, nil
}

// shortened returns v with strings cut to characters and lists cut to entries.
func shortened(v any, characters, entries int) any {
	switch v := v.(type) {
	case string:
		if n := utf8.RuneCountInString(v); n > characters+40 {
			return fmt.Sprintf("%s… (%d characters more)", string([]rune(v)[:characters]), n-characters)
		}
	case []any:
		for i := range v {
			v[i] = shortened(v[i], characters, entries)
		}
	case map[string]any:
		left := map[string]int{}
		for key, one := range v {
			if list, ok := one.([]any); ok && len(list) > entries {
				left[key+"_left_out"], one = len(list)-entries, list[:entries]
			}
			v[key] = shortened(one, characters, entries)
		}
		for key, n := range left {
			before, _ := v[key].(json.Number)
			more, _ := before.Int64()
			v[key] = int(more) + n
		}
	}
	return v
}
