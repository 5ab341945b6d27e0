package summarize

import (
	"reflect"
	"strings"
	"testing"

	"cairn/internal/check"
)

func TestExtractMemories(t *testing.T) {
	find := func(t *testing.T, memories []MemoryDraft, part string) MemoryDraft {
		t.Helper()
		for _, m := range memories {
			if strings.Contains(m.Content, part) {
				return m
			}
		}
		t.Fatalf("no memory of %q in %+v", part, memories)
		return MemoryDraft{}
	}
	t.Run("a memory is self-contained: who, what, when and source", func(t *testing.T) {
		got := find(t, Extract(harbour, 100, 20, "").Memories, "boat")
		want := MemoryDraft{
			Kind: "event", Importance: 0.4, About: "Ines", Messages: []int64{3},
			Content: "Ines: I bought a wooden sailing boat from my uncle in Lisbon yesterday (3 March 2024).",
		}
		check.That(t, reflect.DeepEqual(got, want), "got %+v", got)
	})
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
		t.Run(kind+" is known by its words: "+text, func(t *testing.T) {
			got := find(t, Extract(said("Ines: "+text), 100, 20, "").Memories, "Ines: ")
			check.Equal(t, "kind", got.Kind, kind)
			check.Equal(t, "importance", got.Importance, importance[kind])
		})
	}
	t.Run("only people's messages are remembered, no questions and no small talk", func(t *testing.T) {
		messages := said("Cairn: The regatta starts at the old lighthouse.", "Ines: Where does the regatta to Madeira start?", "Paul: Thanks, that's awesome!", "Paul: Great!")
		check.Len(t, "extracted memories", Extract(messages, 100, 20, "").Memories, 0)
	})
	for first, want := range map[string]string{
		"I live in the villa beside the railway":      "Ines: I live in the villa beside the railway. My rent is sixty two pounds a year.",
		"I live in the villa beside the railway!":     "Ines: I live in the villa beside the railway! My rent is sixty two pounds a year.",
		"I live in the villa beside the railway:":     "Ines: I live in the villa beside the railway: My rent is sixty two pounds a year.",
		"I live in the villa beside the railway…":     "Ines: I live in the villa beside the railway… My rent is sixty two pounds a year.",
		"I live in \"the villa beside the railway.\"": "Ines: I live in \"the villa beside the railway.\" My rent is sixty two pounds a year.",
		"I live in villa no. 5":                       "Ines: I live in villa no. 5. My rent is sixty two pounds a year.",
		"我住在铁路旁边的别墅。":                                 "Ines: 我住在铁路旁边的别墅。 My rent is sixty two pounds a year.",
		"मैं रेलवे के पास रहता हूँ, i live in Pune।":  "Ines: मैं रेलवे के पास रहता हूँ, i live in Pune। My rent is sixty two pounds a year.",
	} {
		t.Run("sentences are separated: "+first, func(t *testing.T) {
			got := Extract(said("Ines: "+first, "Ines: My rent is sixty two pounds a year."), 100, 20, "").Memories
			check.Equal(t, "memory", got[0].Content, want)
		})
	}
	t.Run("the number of memories is limited, and two messages give one", func(t *testing.T) {
		check.Equal(t, "len(Extract(harbour, 100, 2, \"\").Memories)", len(Extract(harbour, 100, 2, "").Memories), 2)
		check.Equal(t, "len(Extract(harbour, 100, 0, \"\").Memories)", len(Extract(harbour, 100, 0, "").Memories), 0)
		check.Equal(t, "memories of two messages", len(Extract(said("Ines: I live in Faro, Portugal.", "Paul: I live in Braga, Portugal."), 100, 20, "").Memories), 1)
	})
}
