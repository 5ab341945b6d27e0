// Named arguments, which people write as name:value.

package command

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"cairn/memory"
)

// Named returns a named argument as people write it; a value with spaces is in quotes.
func Named(name, value string) string {
	value = strings.Join(strings.Fields(value), " ")
	if strings.ContainsRune(value, ' ') {
		value = `"` + strings.ReplaceAll(value, `"`, "") + `"`
	}
	return name + ":" + value
}

// options splits the named arguments of the command from the rest. A value with spaces is in quotes, and follows the colon. After a space,
// as in "order: pizza", only a valid value makes an argument: people write colons in questions, too. Of a name given twice the last value
// counts.
func (c Command) options(args string, isValid func(a Arg, value string) bool) (rest string, values map[string]string) {
	values = make(map[string]string)
	var others []string
	for args = strings.TrimSpace(args); args != ""; args = strings.TrimSpace(args) {
		name, text, found := strings.Cut(args, ":")
		i := slices.IndexFunc(c.Args, func(a Arg) bool { return a.Named && strings.EqualFold(a.Name, name) })
		if found && i >= 0 {
			isSpaced := strings.TrimLeftFunc(text, unicode.IsSpace) != text
			value, more := cutValue(strings.TrimSpace(text))
			if value != "" && (!isSpaced || isValid(c.Args[i], value)) {
				values[c.Args[i].Name] = value
				args = more
				continue
			}
		}
		word, more := cutField(args)
		others = append(others, word)
		args = more
	}
	return strings.Join(others, " "), values
}

// options splits the named arguments of the call from the rest.
func (c *Call) options(ctx context.Context) (rest string, values map[string]string) {
	return c.Command.options(c.Args, func(a Arg, value string) bool {
		return slices.Contains(a.Choices, strings.ToLower(value)) || a.is != nil && a.is(ctx, c, value)
	})
}

// isPerson reports whether somebody who speaks in the conversation, or whom a memory is about, has a name or an ID.
func isPerson(ctx context.Context, c *Call, value string) bool {
	known, err := memory.Of(c.Records).Knows(ctx, value)
	return known && err == nil
}

func isTime(_ context.Context, _ *Call, value string) bool {
	_, err := memory.Until(value, time.Now())
	return err == nil
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
