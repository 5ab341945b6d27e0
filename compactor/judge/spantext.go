package judge

import (
	"cmp"
	"slices"
	"strings"

	"cairn/compactor/summarize"
	"cairn/internal/lazy"
	"cairn/transcript"
)

// spanText is what the messages of a span say, and who speaks there: a text is compared with it.
type spanText struct {
	items      []summarize.Item
	messages   string          // see textOfMessages
	speakers   map[string]bool // keys of the names of who speaks
	vocabulary func() vocabulary
	spoken     func() language
}

func spanTextOf(items []summarize.Item) *spanText {
	return &spanText{
		items:      items,
		messages:   textOfMessages(items),
		speakers:   speakersOf(items),
		vocabulary: lazy.Value(func() vocabulary { return vocabularyOf(items) }),
		spoken:     lazy.Value(func() language { return spokenIn(items) }),
	}
}

// textOfMessages returns the text of the messages of a span; "" if they are so few that a summary may repeat them.
// A summary among the items may always be repeated.
func textOfMessages(items []summarize.Item) string {
	const fewest = 4
	var texts []string
	for _, it := range items {
		if it.From == it.To {
			texts = append(texts, it.Message.Text)
		}
	}
	if len(texts) < fewest {
		return ""
	}
	return strings.Join(texts, " ")
}

// speakersOf returns the keys of the names of who speaks in the messages.
func speakersOf(items []summarize.Item) map[string]bool {
	names := map[string]bool{}
	for _, it := range items {
		for _, k := range keysOf("by " + it.Message.Author) {
			names[k.short] = true
		}
	}
	return names
}

// share returns what portion of a text's words and numbers are in the span, without the names of who
// speaks there, and how many they are. A text about a summary has hardly any, whatever its language.
func (t *spanText) share(text string) (share, found float64) {
	all := 0.0
	seen := map[string]bool{}
	for _, k := range keysOf(transcript.Citations.ReplaceAllString(text, "")) {
		if seen[k.short] || t.speakers[k.short] {
			continue
		}
		seen[k.short] = true
		all += k.weight
		if t.vocabulary().keys[k.short] || t.vocabulary().keys[k.stem] {
			found += k.weight
		}
	}
	return found / max(all, 1), found
}

// namesSpeaker reports whether a text has the name of who speaks in the span.
func (t *spanText) namesSpeaker(text string) bool {
	return slices.ContainsFunc(keysOf("- "+text), func(k key) bool { return t.speakers[k.short] })
}

// quotes reports whether a message of the span contains the text.
func (t *spanText) quotes(text string) bool {
	text = flat(text)
	return slices.ContainsFunc(t.items, func(it summarize.Item) bool { return strings.Contains(flat(it.Message.Text), text) })
}

// says reports whether a message of the span contains a phrase, in capitals or not.
func (t *spanText) says(phrase string) bool {
	phrase = strings.ToLower(flat(phrase))
	for _, it := range t.items {
		if strings.Contains(strings.ToLower(flat(it.Message.Text)), phrase) {
			return true
		}
	}
	return false
}

// startsWithSpeaker reports whether a line begins with the name of who speaks in the span.
func (t *spanText) startsWithSpeaker(line string) bool {
	name, _, labelled := strings.Cut(line, ":")
	return labelled && speaker().MatchString(line) && !strings.Contains(name, ". ") && t.namesSpeaker(name)
}

// wordless reports whether the span has no words apart from its labels, as a part of a long message that is a row of dashes: then
// its summary can only say what it looks like, in words of its own.
func (t *spanText) wordless() bool {
	return !slices.ContainsFunc(t.items, func(it summarize.Item) bool { return len(keysOf(cmp.Or(it.Message.Text, it.Text))) > 0 })
}

func (t *spanText) covers(seq int64) bool {
	for _, it := range t.items {
		if it.From <= seq && seq <= it.To {
			return true
		}
	}
	return false
}
