package summarize

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/testkit/check"
)

func TestExtractMemories(t *testing.T) {
	got := Extract(harbour, 100, 20, "").Memories
	at := slices.IndexFunc(got, func(m MemoryDraft) bool { return strings.Contains(m.Content, "boat") })
	check.Require(t, at >= 0, "got memories %+v", got)
	want := MemoryDraft{ // self-contained: who, what, when and source
		Kind: "event", Importance: 0.4, About: "Ines", Messages: []int64{3},
		Content: "Ines: I bought a wooden sailing boat from my uncle in Lisbon yesterday (3 March 2024).",
	}
	check.That(t, reflect.DeepEqual(got[at], want), "got %+v", got[at])
	for text, kind := range map[string]string{
		"My name is Ines and I live in Faro.":        "identity",
		"We decided to sell the red caravan.":        "decision",
		"I need to renew my passport in April.":      "todo",
		"I want to open a bakery in Braga.":          "goal",
		"I prefer trains over planes.":               "preference",
		"My sister Clara owns a bicycle shop.":       "fact",
		"I visited the castle of Sintra last month.": "event",
		"The old lighthouse lost its lamp in 2019.":  "observation",
		"我喜欢绿茶和饼干。":                                  "preference",
	} {
		got := Extract(said("Ines: "+text), 100, 20, "").Memories
		check.Len(t, text, got, 1)
		check.That(t, got[0].Kind == kind && got[0].Importance == importance[kind] && strings.HasPrefix(got[0].Content, "Ines: "), "%s: got %+v", text, got[0])
	}
	chatter := said("Cairn: The regatta starts at the old lighthouse.", "Ines: Where does the regatta to Madeira start?", "Paul: Thanks, that's awesome!", "Paul: Great!")
	check.Len(t, "memories of what no person stated", Extract(chatter, 100, 20, "").Memories, 0)
	for most := range 2 {
		check.Len(t, "memories of at most so many", Extract(harbour, 100, most, "").Memories, most)
	}
}

// remembered returns what is remembered of messages, without the speaker's name.
func remembered(lines ...string) (all []string) {
	for _, m := range Memories(said(lines...), 20) {
		all = append(all, strings.TrimPrefix(m.Content, m.About+": "))
	}
	return all
}

func TestWhatIsWorthAMemory(t *testing.T) {
	for kind, sentences := range map[string][]string{
		"who somebody is":      {"I was born in Krakow.", "I'm allergic to shellfish.", "Ich wohne in Graz.", "J'habite à Lyon.", "Vivo en Sevilla.", "Я живу в Самаре.", "我住在杭州。", "大阪に住んでいます。"},
		"family and animals":   {"My sister owns a bicycle shop.", "Meine Schwester lebt in Köln.", "Mi hermano trabaja en Lima.", "Моя сестра учится в Казани."},
		"what changed":         {"I moved to Lisbon in 2019.", "Just adopted a greyhound from Ghent.", "Ich habe gestern ein Klavier gekauft.", "J'ai acheté une maison à Nantes.", "Я переехала в Казань."},
		"a decision":           {"We decided to sell the red caravan.", "Wir haben beschlossen, das Auto zu verkaufen.", "Decidí vender el coche rojo.", "Мы решили продать машину."},
		"a duty with a date":   {"I need to renew my passport in April."},
		"a goal with a thing":  {"I want to open a bakery in Braga."},
		"likes and dislikes":   {"I hate coriander.", "My favorite composer is Bartok.", "Je préfère le thé vert.", "Me gusta el ajedrez ruso.", "Мне нравится шахматы.", "我喜欢绿茶和饼干。", "抹茶ケーキが好きです。"},
		"what somebody does":   {"I play the cello in an orchestra."},
		"a habit":              {"I usually swim forty lengths before breakfast.", "I volunteer at the animal shelter every Wednesday."},
		"what a team needs":    {"`raco test` runs every file in Racket 8 by default.", "Use of HTTP is limited to 40 requests by default.", "The wiki is now at https://wiki.example.org since March."},
		"the name of a person": {"My name is Ines."},
	} {
		for _, text := range sentences {
			check.Len(t, kind+": "+text, remembered("Ines: "+text), 1)
		}
	}
	for kind, sentences := range map[string][]string{
		"a question":               {"Do you know whether my sister owns a shop in Braga?", "Where do I renew my passport in Lisbon", "你住在杭州吗？"},
		"greetings, thanks":        {"Good morning everybody!", "Thanks a lot, that helps!", "Danke, das ist lieb!", "谢谢你！"},
		"a reaction":               {"That sounds like a wonderful trip to Lisbon!", "Wow, what a beautiful sunset picture!"},
		"talk to somebody":         {"You must be proud of your new bakery in Braga.", "Your sister owns a lovely shop."},
		"an opinion":               {"I think hard work always pays off.", "Kindness makes the world a better place."},
		"plans for the evening":    {"I'm going to watch a movie tonight.", "Heading home to cook dinner now.", "Ich gehe heute Abend ins Kino."},
		"a part of a sentence":     {"Because I love the sea.", "I love the sea and", "which I bought in Lisbon in 2019"},
		"what nobody can tell":     {"It was in Lisbon last year.", "She works at the embassy in Nairobi.", "I bought it yesterday.", "I love that!", "They moved to Porto in May."},
		"code, an address alone":   {"```go run . --fast```", "https://example.org/a/b/c", "`(define x 1)`"},
		"an intention of no thing": {"I want to do my best."},
		"a clause of another":      {"I see what happens while I live in Faro."},
		"a step of work":           {"I'm trying to run `make all` and it fails."},
		"something so vague":       {"I bought some things and other stuff."},
		"a stammer":                {"Uh we we have uh the the case um for it um uh."},
	} {
		for _, text := range sentences {
			check.Len(t, kind+": "+text, remembered("Ines: "+text), 0)
		}
	}
}

func TestFormOfMemories(t *testing.T) {
	long := "I live in Faro" + strings.Repeat(" near the river of Olga and Tomas", 14)
	for claim, c := range map[string]struct{ said, want []string }{
		"a sentence stays whole, in its words":         {[]string{"Ines: Wow! So I really bought the old boat of my uncle in Lisbon!"}, []string{"So I really bought the old boat of my uncle in Lisbon!"}},
		"of several sentences the fact alone":          {[]string{"Ines: How are you? My sister owns a bicycle shop. Nice weather!"}, []string{"My sister owns a bicycle shop."}},
		"the next one completes it":                    {[]string{"Ines: I adopted a greyhound from Ghent. She is eleven years old."}, []string{"I adopted a greyhound from Ghent. She is eleven years old."}},
		"of the next message too":                      {[]string{"Ines: I adopted a greyhound from Ghent", "Ines: She is eleven years old"}, []string{"I adopted a greyhound from Ghent. She is eleven years old"}},
		"not past somebody else":                       {[]string{"Ines: I adopted a greyhound from Ghent.", "Paul: Lovely!", "Ines: She sleeps all day on the sofa."}, []string{"I adopted a greyhound from Ghent."}},
		"it takes its predecessor along":               {[]string{"Ines: The attic has an old cello. It was made in Prague in 1920."}, []string{"The attic has an old cello. It was made in Prague in 1920."}},
		"what is too long stays out, it is not cut":    {[]string{"Ines: " + long + "."}, nil},
		"yesterday has its date":                       {[]string{"Ines: I moved to Porto yesterday."}, []string{"I moved to Porto yesterday (3 March 2024)."}},
		"the same person's facts are separate":         {[]string{"Ines: I live in Faro. I'm allergic to nuts."}, []string{"I live in Faro.", "I'm allergic to nuts."}},
		"who somebody is does not count in the budget": {[]string{"Ines: I live in Faro.", "Paul: I live in Braga.", "Paul: I play the cello in an orchestra.", "Paul: My sister owns a bicycle shop."}, []string{"I live in Faro.", "I live in Braga.", "I play the cello in an orchestra.", "My sister owns a bicycle shop."}},
	} {
		got := remembered(c.said...)
		slices.Sort(got)
		slices.Sort(c.want)
		check.That(t, slices.Equal(got, c.want), "%s: got %q, want %q", claim, got, c.want)
	}
}

// What somebody says twice is one memory, of both messages.
func TestRepeatedFactIsOneMemory(t *testing.T) {
	const boat = "Ines: I bought a boat from my uncle."
	got := Memories(said(boat, "Paul: I bought a boat from my uncle!", "Ines: I bought a boat from my uncle!"), 20)
	check.Len(t, "memories", got, 1)
	check.That(t, got[0].About == "Ines" && slices.Equal(got[0].Messages, []int64{1, 3}), "got %+v", got[0])
}

// A caption is part of a memory only where the sentence points at it.
func TestCaptionsOfMemories(t *testing.T) {
	for text, want := range map[string]string{
		"This is my dog Pepper.":         "This is my dog Pepper. [image: a brown dog on a sofa]",
		"My sister owns a bicycle shop.": "My sister owns a bicycle shop.",
	} {
		messages := said("Ines: " + text)
		messages[0].Attachments = []chat.Attachment{{Kind: "image", Caption: "a brown dog on a sofa"}}
		got := Memories(messages, 20)
		check.Len(t, text, got, 1)
		check.Equal(t, text, got[0].Content, "Ines: "+want)
	}
	check.Len(t, "a sentence that points at nothing", remembered("Ines: This is my dog Pepper."), 0)
}

// The budget is a limit, not a quota.
func TestBudgetOfMemories(t *testing.T) {
	fact := func(i int) string { return fmt.Sprintf("Ines: I bought a boat from my uncle in harbour number %d.", i) }
	var facts, chatter []string
	for i := range 60 {
		facts = append(facts, fact(i))
		chatter = append(chatter, "Ines: Thanks, that sounds great!")
	}
	for most, c := range map[string]struct {
		said []string
		want int
	}{
		"one of a single message":     {facts[:1], 1},
		"one of twenty":               {facts[:20], 1},
		"two of twenty-one":           {facts[:21], 2},
		"three of sixty":              {facts, 3},
		"none of chatter":             {chatter, 0},
		"one of chatter and one fact": {append(slices.Clone(chatter), facts[0]), 1},
	} {
		check.Len(t, most, remembered(c.said...), c.want)
	}
	best := remembered(append(slices.Clone(facts[:19]), "Ines: We decided to sell the red caravan to Clara in May 2025.")...)
	check.That(t, len(best) == 1 && strings.HasPrefix(best[0], "We decided"), "want the best: got %q", best)
}

// Among those who talk about code, how something works is worth a memory, and "the test" is one that only they know.
func TestMemoriesOfHowThingsWork(t *testing.T) {
	const works = "`raco make` checks the timestamp, then it reads the SHA-1 of Racket files."
	check.Len(t, "how something works", remembered("Ines: "+works), 1)
	check.Len(t, "how something that only they know works", remembered("Ines: The test checks the timestamp in `make.rkt`, then it reads the SHA-1 of files."), 0)
	check.Len(t, "an aside", remembered("Ines: ("+works+")"), 0)
}

// Where people talk about code, what they have or did is a step of their work.
func TestMemoriesOfTalkAboutCode(t *testing.T) {
	const list = "Ines: I have a list of all old parsers of Clara."
	private := []string{list, "Ines: Fine.", "Paul: Good."}
	check.Len(t, "a possession among friends", remembered(private...), 1)
	code := append(slices.Clone(private), "Paul: `make all` works for me.")
	for _, text := range remembered(code...) {
		check.Lacks(t, "a possession beside code", text, "parsers")
	}
}

// TestDurableFacts compares memories made without a model with invented sentences marked by people:
// durable facts, and chatter.
func TestDurableFacts(t *testing.T) {
	var kept, right, lasting int
	one := map[bool]int{true: 1}
	for line := range strings.Lines(string(check.Must(os.ReadFile("testdata/lasting.txt"))(t))) {
		mark, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if mark == "#" {
			continue
		}
		remembered := len(Extract(said("Ines: "+text), 100, 20, "").Memories) > 0
		lasts := mark == "+"
		kept = kept + one[remembered]
		lasting = lasting + one[lasts]
		right = right + one[remembered && lasts]
		if remembered != lasts {
			t.Logf("%s %s", mark, text)
		}
	}
	precision := float64(right) / float64(kept)
	recall := float64(right) / float64(lasting)
	t.Logf("%d remembered, %.1f %% of them last; of what lasts %.1f %% are remembered", kept, 100*precision, 100*recall)
	check.That(t, precision >= 0.93 && recall >= 0.93, "got precision %.3f and recall %.3f, want 0.93", precision, recall)
}

// In text without blanks between words, a person's own words and numbers are found all the same.
func TestDurableFactsWithoutSpaces(t *testing.T) {
	for text, want := range map[string]bool{
		"私は犬を預けないといけない":    true,
		"旅館は一人12000円、夕食つき": true,
		"我在波尔图开了一家面包店":     true,
		"本当に？助かる！":         false,
		"私の部屋はどこにありますか":    false,
		"私の誕生日をいつ祝うの":      false,
		"今天天气很好啊":          false,
	} {
		check.Equal(t, text+": remembered", len(Extract(said("Ines: "+text), 100, 20, "").Memories) > 0, want)
	}
}
