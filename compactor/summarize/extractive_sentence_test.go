package summarize

import (
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/words/wordstest"
)

func TestRelativeTimes(t *testing.T) {
	at := time.Date(2024, 3, 31, 23, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"Yesterday we left":            "Yesterday (30 March 2024) we left",
		"the day after tomorrow":       "the day after tomorrow (2 April 2024)",
		"last night and tomorrow":      "last night (30 March 2024) and tomorrow (1 April 2024)",
		"next month":                   "next month (April 2024)",
		"last year":                    "last year (2023)",
		"last week":                    "last week (the week before 31 March 2024)",
		"next Friday":                  "next Friday (the Friday after 31 March 2024)",
		"this week":                    "this week",
		"three days ago":               "three days ago (28 March 2024)",
		"2 weeks ago":                  "2 weeks ago (about 17 March 2024)",
		"a month ago":                  "a month ago (about February 2024)",
		"it seems like just yesterday": "it seems like just yesterday",
		"10 years ago":                 "10 years ago (about 2014)",
		"yesterdays and a lastly day":  "yesterdays and a lastly day",
	} {
		check.Equal(t, text, withDates(text, at, false), want)
	}
	for text, want := range map[string]string{
		"Yesterday we left":   "Yesterday (30 March) we left",
		"last year":           "last year (2023)",
		"last week":           "last week",
		"100 days ago":        "100 days ago (22 December 2023)",
		"12 months ago today": "12 months ago (about March 2023) today",
	} {
		check.Equal(t, text+", under its day", withDates(text, at, true), want)
	}
	check.Equal(t, "text without a time", withDates("yesterday", time.Time{}, false), "yesterday")
}

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
		check.Equal(t, "shortened text", tighten(text), want)
	}
	for _, text := range []string{
		"Ich habe an der Wand so was gesehen, und das war so gut.", "Voy a la playa a las ocho, y a la vuelta compro pan.",
		"Vou a Lisboa e volto a casa.", "Il y a un chat, il a mal.", "Я купил a лодку и был очень рад - супер!", "我们 a 很高兴，the 船。",
		"Menem a boltba, a piac a hegyen van.",
	} {
		check.Equal(t, "text in another language", tighten(text), text)
	}
	s := Extract(said("Ines: By the way, I really bought the old boat of my uncle in Lisbon!", "Paul: Ok"), 60, 1, "")
	check.Contains(t, "summary", s.Text, "I bought old boat of my uncle in Lisbon!")
	check.Len(t, "memories", s.Memories, 1)
	check.Contains(t, "memory", s.Memories[0].Content, "I really bought the old boat")
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
		negations := func(text string) (n int) {
			for word := range strings.FieldsSeq(text) {
				n += map[bool]int{true: 1}[negative(plain(word))]
			}
			return n
		}
		check.Require(t, negations(text) == negations(short), "%q: got %q, without the negation", text, short)
	})
}
