package summarize

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

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
	for first, want := range map[string]string{
		"I live in the villa beside the railway":      "I live in the villa beside the railway.",
		"I live in the villa beside the railway!":     "I live in the villa beside the railway!",
		"I live in the villa beside the railway:":     "I live in the villa beside the railway:",
		"I live in the villa beside the railway…":     "I live in the villa beside the railway…",
		"I live in \"the villa beside the railway.\"": "I live in \"the villa beside the railway.\"",
		"I live in villa no. 5":                       "I live in villa no. 5.",
		"我住在铁路旁边的别墅。":                                 "我住在铁路旁边的别墅。",
		"मैं रेलवे के पास रहता हूँ, i live in Pune।":  "मैं रेलवे के पास रहता हूँ, i live in Pune।",
	} {
		got := Extract(said("Ines: "+first, "Ines: My rent is sixty two pounds a year."), 100, 20, "").Memories
		check.Equal(t, "memory", got[0].Content, "Ines: "+want+" My rent is sixty two pounds a year.")
	}
	for most := range 3 {
		check.Len(t, "memories of at most so many", Extract(harbour, 100, most, "").Memories, most)
	}
	check.Len(t, "memories of two messages", Extract(said("Ines: I live in Faro, Portugal.", "Paul: I live in Braga, Portugal."), 100, 20, "").Memories, 1)
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

// People state one fact in several messages: one memory has them all.
func TestAdjacentMessagesBecomeOneMemory(t *testing.T) {
	const boat, dock, trip = "Ines: I bought a wooden sailing boat from my uncle.", "Ines: My uncle keeps it in a dock near Lisbon.", "Ines: We want to sail to Madeira in August."
	for name, tt := range map[string]struct {
		said []string
		want [][]int64
	}{
		"with an answer between":      {[]string{boat, "Paul: Lovely!", dock, "Paul: Where to?", trip}, [][]int64{{1, 3, 5}}},
		"of the most important kind":  {[]string{"Ines: I repaired the washing machine with a part from Germany.", "Paul: Great!", "Ines: We decided to sell the red caravan."}, [][]int64{{1, 3}}},
		"not what is further away":    {[]string{boat, "Paul: A", "Paul: B", "Paul: C", "Paul: D", dock}, [][]int64{{1}, {6}}},
		"not what is of another day":  {[]string{boat, "Paul: Lovely!", "+1", dock}, [][]int64{{1}, {3}}},
		"not what somebody else said": {[]string{boat, "Paul: Lovely!", "Paul: My sister Clara owns a bicycle shop in Braga."}, [][]int64{{1}, {3}}},
		"not what is too long":        {[]string{boat, "Paul: Lovely!", dock + strings.Repeat(" I sailed to Porto with Olga.", 9)}, [][]int64{{1}, {3}}},
		"not what does not last":      {[]string{boat, "Paul: Lovely!", "Ines: Thanks a lot, that's so kind!"}, [][]int64{{1}}},
	} {
		var got [][]int64
		for _, m := range Extract(said(tt.said...), 100, 20, "").Memories {
			got = append(got, m.Messages)
			check.That(t, m.Importance == importance[m.Kind] && (m.Kind == "decision") == strings.Contains(m.Content, "decided"), "%s: got %+v", name, m)
			check.That(t, strings.HasPrefix(m.Content, m.About+": ") && strings.Count(m.Content, m.About+": ") == 1, "%s: want the speaker named once: %q", name, m.Content)
		}
		slices.SortFunc(got, slices.Compare)
		check.That(t, reflect.DeepEqual(got, tt.want), "%s: got %v, want %v", name, got, tt.want)
	}
}
