package summarize

import (
	"slices"
	"strings"
	"testing"

	"cairn/testkit/check"
)

func TestCuesAreOfKnownKinds(t *testing.T) {
	groups := map[*cue]bool{}
	for first, phrases := range cues().first {
		check.That(t, first == strings.ToLower(first), "%q: want small letters", first)
		for _, p := range phrases {
			groups[p.cue] = true
		}
	}
	for _, s := range cues().signs {
		groups[s.cue] = true
	}
	for c := range groups {
		known := slices.ContainsFunc(MemoryKinds, func(k MemoryKind) bool { return k.Name == c.kind })
		check.That(t, known && c.points > 0 || c.kind == "-" && c.points < 0, "got %+v", c)
	}
	for _, name := range strings.Fields("self role group team habit decision past you opinion possession doing goal aim liking change") {
		found := false
		for c := range groups {
			found = found || c.name == name
		}
		check.That(t, found, "no cues named %s, which the code names", name)
	}
}

func TestPlainWords(t *testing.T) {
	for text, want := range map[string]string{
		"I've really moved to Porto!":    "i have moved to porto",
		"Dont worry, I can't stand it":   "do not worry i can not stand it",
		"Just got a tattoo":              "i got a tattoo",
		"Been swimming for years":        "i have been swimming for years",
		"Packed with protein":            "packed with protein",
		"@Paul we'll use it":             "we will use it",
		"Paul's sister isn't here":       "paul's sister is not here",
		"J'habite à Lyon":                "j'habite à lyon",
		"She's here, it's ours, ok":      "she is here it is ours ok",
		"I wanna learn, im gonna try it": "i want to learn i am going to try it",
	} {
		check.Equal(t, text, strings.Join(plainWords(text), " "), want)
	}
}
