// Labels at the beginning of a summary: that it is one, or who wrote it.

package judge

import (
	"slices"
	"strings"
	"unicode"

	"cairn/compactor/summarize"
	"cairn/internal/lazy"
	"cairn/internal/words"
	"cairn/llm"
)

// leadingLabel matches a label at the beginning of a text: "Summary: ", "**Zusammenfassung:** "
// Its groups: the label, the same in brackets.
var leadingLabel = lazy.Pattern(`\A(?:[*_# ]*([^:：\n]{1,60})[*_]*(?::[*_]*\s+|：[*_]*[ \t]*)|[\[<]([^\[\]<>\n]{1,60})[\]>][ \t]+)`)

// roleLabel matches a label that names the role of the writer, or that the text is short.
var roleLabel = lazy.Pattern(`(?i)^[*_ ]*(?:(?:ai )?assistant|ai|(?:chat)?bot|model|cairn|assistente?|asistente|asystent|ассистент|助手|アシスタント|tl;?dr)[*_ ]*$`)

// withoutLabels removes labels at the beginning of a text.
func (j *Judge) withoutLabels(text string) string {
	const maxLabels = 3
	for range maxLabels {
		text = j.withoutLabel(text)
	}
	return text
}

// withoutLabel removes a label that only says that the text is a summary, or who wrote it.
func (j *Judge) withoutLabel(text string) string {
	m := leadingLabel().FindStringSubmatch(text)
	if m == nil {
		return text
	}
	rest := text[len(m[0]):]
	name := strings.Trim(m[1]+m[2], "*_#[]<> ")
	switch _, found := j.span.share(name); {
	case j.isWriter(name):
		return j.unlessRepeated(text, rest)
	case m[1] == "":
		return text
	case j.span.namesSpeaker(name), found > 0, !task().MatchString(name) && !roleLabel().MatchString(name):
		return text
	}
	return rest
}

// isWriter reports whether a label is the name of the assistant: its messages have it, or the first words of the prompt of the
// chat's model, as "You are Robin", but no message does.
func (j *Judge) isWriter(name string) bool {
	if slices.ContainsFunc(j.span.items, func(it summarize.Item) bool {
		return it.Message.Role == llm.RoleUser && strings.EqualFold(it.Message.Name(), name)
	}) {
		return false
	}
	if slices.ContainsFunc(j.span.items, func(it summarize.Item) bool { return it.Message.Role == llm.RoleAssistant && it.Message.Author == name }) {
		return true
	}
	const maxIntroduction = 100 // bytes of the prompt in which it introduces its reader
	first := j.agent[:min(len(j.agent), maxIntroduction)]
	word := []rune(name)
	return len(word) > 2 && unicode.IsUpper(word[0]) && !strings.Contains(name, " ") && strings.Contains(first, name) &&
		!strings.Contains(first, strings.ToLower(name)) && !j.span.says(name)
}

// unlessRepeated returns a text without the assistant's name before it, unless it repeats a message of the assistant.
func (j *Judge) unlessRepeated(text, rest string) string {
	var answers []summarize.Item
	for _, it := range j.span.items {
		if it.Message.Role == llm.RoleAssistant && it.From == it.To {
			answers = append(answers, it)
		}
	}
	if sentences := words.Sentences(rest); len(sentences) > 0 && vocabularyOf(answers).shareOf(sentences[0]) >= subjectShare {
		return text
	}
	return rest
}
