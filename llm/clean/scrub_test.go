package clean

import (
	"fmt"
	"strings"
	"testing"

	"cairn/testkit/check"
)

// unreadable are texts with characters that nobody can read, and what remains of them.
var unreadable = map[string]string{
	"\ufeffHello":              "Hello",
	"Hel\ufefflo":              "Hello",
	"\x1b[31mred\x1b[0m alert": "red alert",
	"\x1b[38;5;196mred\x1b[m":  "red",
	"\u009b2Jgone":             "gone",
	"\x1b]0;title\aHello":      "Hello",
	"\x1b]8;;https://x.y\x1b\\link\x1b]8;;\x1b\\": "link",
	"a\x1bP1$r\x1b\\b":                            "ab",
	"\x1bcreset":                                  "reset",
	"\x1b(Bascii":                                 "ascii",
	"cut off\x1b[3":                               "cut off",
	"bell\a, backspace\b, delete\x7f, NUL\x00":    "bell, backspace, delete, NUL",
	"over\rwritten":                               "over\nwritten",
	"a page\fbreak":                               "a page\nbreak",
	"Tea ��� is ready":                            "Tea  is ready",
	"��":                                          "",
	"lone \xed\xa0\xbd surrogates":                "lone  surrogates",
	"mo\u200bre w\u2060ords":                      "more words",
	"a\u202egnorw\u202c way":                      "agnorw way",
	"hidden\U000e0068\U000e0069 words":            "hidden words",
	"🍵\ufe0f\ufe01\ufe02\ufe03 tea":               "🍵\ufe0f tea",
	"Hello.<\u200b|im_end|>":                      "Hello.",
	"<th\u200dink>hm</think>Hello":                "Hello",
	"\u200bNO\u200b_REPLY":                        "NO_REPLY",
}

func TestUnreadableCharactersAreRemoved(t *testing.T) {
	for text, want := range unreadable {
		check.Equal(t, fmt.Sprintf("%q", text), Text(text), want)
	}
}

func TestReadableCharactersStay(t *testing.T) {
	for _, text := range []string{
		"line\r\nbreaks\tand tabs\u2028too", "👩\u200d🔬 ❤️ 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f 1️⃣ 👍🏽", "می\u200cخواهم", "क्\u200dष", "ภาษา\u200bไทย",
		"\u200fשלום\u200e, \u2067مرحبا\u2069", "葛\U000e0100", "Donau\u00addampf", "U+FFFD is �, the replacement character.", "e\u0301 ő 한글 \u00a0 \u3000", "\\x1b[31m is red", "^[[31m",
	} {
		check.Equal(t, fmt.Sprintf("%q", text), Text(text), text)
	}
	f := newFilter()
	f.Quoted = func(text string) bool { return strings.Contains("The file shows ���.", text) }
	f.Next("It shows ��� because it is in Latin 1.")
	check.Equal(t, "what people wrote themselves", f.End(), "It shows ��� because it is in Latin 1.")
}
