package summarize

import (
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/words/wordstest"
)

func TestTighten(t *testing.T) {
	for text, want := range map[string]string{
		"By the way, I really bought a boat with my uncle!":                "I bought boat with my uncle!",
		"And the harbour was so cold, we left the next day.":               "Harbour was cold, we left the next day.",
		"Actually, I have the very first stamp of the queen.":              "I have first stamp of queen.",
		"I just sold the three red boats that I had.":                      "I sold the three red boats that I had.",
		"I was so tired after the race with my sons.":                      "I was tired after race with my sons.",
		"My sons don't really like the sea, but I do.":                     "My sons don't really like sea, but I do.",
		"It was not a joke and I was not very happy.":                      "It was not a joke and I was not very happy.",
		"I have just one brother and a few friends of his.":                "I have just one brother and a few friends of his.",
		"We are just friends, and I think it's great.":                     "We are just friends, and I think it's great.",
		"I'm moving to Rome with my cat, but maybe later.":                 "I'm moving to Rome with my cat, but maybe later.",
		"I met the Queen of Spain at the Prado with my aunt.":              "I met the Queen of Spain at the Prado with my aunt.",
		`I read "A Song of the really dark sea" to my sons.`:               `I read "A Song of the really dark sea" to my sons.`,
		"So far I have seen the sea twice a year.":                         "So far I have seen sea twice a year.",
		"I paid 300 € for the old boat of my aunt - great, but 50 € late.": "I paid 300 € for old boat of my aunt - great, but 50 € late.",
		"I run `sed -e the a` and the test fails with it.":                 "I run `sed -e the a` and the test fails with it.",
		"Is it the one that you really wanted to have?":                    "Is it the one that you wanted to have?",
		"the":    "the",
		"And so": "And so",
		"":       "",
		"So the Ofen and the Kamin von Jürgen, and it was great.": "So the Ofen and the Kamin von Jürgen, and it was great.",
	} {
		t.Run(text, func(t *testing.T) {
			check.Equal(t, "shortened text", tighten(text), want)
		})
	}
	t.Run("other languages are unchanged", func(t *testing.T) {
		for _, text := range []string{
			"Ich habe an der Wand so was gesehen, und das war so gut.", "Voy a la playa a las ocho, y a la vuelta compro pan.",
			"Vou a Lisboa e volto a casa.", "Il y a un chat, il a mal.", "Я купил a лодку и был очень рад - супер!", "我们 a 很高兴，the 船。",
			"Menem a boltba, a piac a hegyen van.",
		} {
			check.Equal(t, "text", tighten(text), text)
		}
	})
	t.Run("a memory keeps its whole sentence", func(t *testing.T) {
		messages := said("Ines: By the way, I really bought the old boat of my uncle in Lisbon!", "Paul: Ok")
		s := Extract(messages, 60, 1, "")
		if !strings.Contains(s.Text, "I bought old boat of my uncle in Lisbon!") || len(s.Memories) != 1 || !strings.Contains(s.Memories[0].Content, "I really bought the old boat") {
			t.Errorf("%+v", s)
		}
	})
}

func FuzzTighten(f *testing.F) {
	f.Add(`And I really saw "the sea", so it was great - wow 🎉`)
	f.Add("so the \xff a “the and I'm")
	for _, text := range wordstest.Texts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = oneLine(text)
		short := tighten(text)
		check.Require(t, (text == "" || short != "") && len(short) <= len(text)+4, "%q: got %q", text, short)
		was, is := 0, 0
		for word := range strings.FieldsSeq(text) {
			if negative(plain(word)) {
				was++
			}
		}
		for word := range strings.FieldsSeq(short) {
			if negative(plain(word)) {
				is++
			}
		}
		check.Require(t, was == is, "%q: got %q, without the negation", text, short)
	})
}
