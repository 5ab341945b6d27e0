package wordstest

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Readable normalizes a text like a reader who ignores case, accents and invisible characters, and
// confuses letters that look alike.
func Readable(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r), r != '\t' && unicode.IsControl(r):
			return '\n'
		case unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me), strings.ContainsRune("\u115f\u1160\u3164\uffa0\u2800", r):
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(text))
	return strings.NewReplacer("а", "a", "с", "c", "е", "e", "о", "o", "ο", "o", "р", "p", "ѕ", "s", "у", "y", "к", "k", "т", "t",
		"【", "[", "】", "]", "‹", "<", "›", ">").Replace(text)
}

// RoleMark returns a mark of a role in a text as servers read them, letter for letter; "" if there is none.
func RoleMark(text string) string {
	for _, mark := range []string{
		"<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|endoftext|>", "<|begin_of_text|>", "<|end_of_text|>",
		"<|start|>", "<|channel|>", "<|message|>", "<|end|>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<s>", "</s>", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]",
		"[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>",
		"<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>",
	} {
		if strings.Contains(text, mark) {
			return mark
		}
	}
	return ""
}

// ForgedLine returns a line of a text that begins with one of marks, to a reader who takes anything for a line end and ignores
// blanks; "" if there is none.
func ForgedLine(text string, marks []string) string {
	for _, l := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r) }) {
		seen := strings.TrimLeft(l, " \t\u00a0\u200b\u200e\ufeff\u3000")
		for _, mark := range marks {
			if strings.HasPrefix(seen, mark) {
				return l
			}
		}
	}
	return ""
}
