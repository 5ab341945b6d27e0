package command

import (
	"strings"
	"unicode"
)

// Named arguments, which people write as name:value.

// Named returns a named argument as people write it; a value with spaces is in quotes.
func Named(name, value string) string {
	value = strings.Join(strings.Fields(value), " ")
	if strings.ContainsRune(value, ' ') {
		value = `"` + strings.ReplaceAll(value, `"`, "") + `"`
	}
	return name + ":" + value
}

// options splits the named arguments of the command from the rest. A value with spaces is in quotes; a space may follow the colon. Of a name
// given twice the last value counts.
func (c Command) options(args string) (rest string, values map[string]string) {
	values = make(map[string]string)
	var others []string
	for args = strings.TrimSpace(args); args != ""; args = strings.TrimSpace(args) {
		name, value, found := strings.Cut(args, ":")
		name = strings.ToLower(name)
		if found && c.names(name) {
			values[name], args = cutValue(strings.TrimSpace(value))
			continue
		}
		word, more := cutField(args)
		others = append(others, word)
		args = more
	}
	return strings.Join(others, " "), values
}

// names reports whether the command has a named argument of that name.
func (c Command) names(name string) bool {
	for _, a := range c.Args {
		if a.Named && a.Name == name {
			return true
		}
	}
	return false
}

// quotes are the quotation marks that people and phones write, by the one that opens.
var quotes = map[rune]string{'"': "\"", '\'': "'", '“': "”", '„': "“”", '«': "»", '「': "」"}

// cutValue splits a text after its first value: a word, words in quotes, or a mention.
func cutValue(text string) (value, rest string) {
	for first, closing := range quotes {
		if inside, ok := strings.CutPrefix(text, string(first)); ok {
			if end := strings.IndexAny(inside, closing); end >= 0 {
				value = inside[:end]
				_, rest = cutField("." + inside[end:])
				return strings.TrimSpace(value), rest
			}
		}
	}
	if end := strings.IndexByte(text, '>'); end >= 0 && strings.HasPrefix(text, "<@") {
		return text[:end+1], text[end+1:]
	}
	return cutField(text)
}

// cutField splits a text at its first white space.
func cutField(text string) (word, rest string) {
	if end := strings.IndexFunc(text, unicode.IsSpace); end >= 0 {
		return text[:end], text[end:]
	}
	return text, ""
}
