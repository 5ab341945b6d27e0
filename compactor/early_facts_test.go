package compactor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/internal/words"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// earlyFact is something that was said at the start of a long conversation.
type earlyFact struct {
	who, said        string
	about, content   string // as a worker saves it
	attribute, value string
	question         string // "": a later fact takes its place
}

var earlyFacts = []earlyFact{
	{"Ada", "I live in Lisbon with my two sons.", "Ada", "Ada lives in Lisbon with her two sons", "home", "Lisbon", ""},
	{"Ben", "I work as a nurse at the Santa Maria hospital.", "Ben", "Ben works as a nurse at the Santa Maria hospital", "job", "nurse", "Where does Ben work?"},
	{"Cleo", "I am allergic to hazelnuts.", "Cleo", "Cleo is allergic to hazelnuts", "", "", "What is Cleo allergic to?"},
	{"Dan", "I was born on 3 March 1988.", "Dan", "Dan was born on 3 March 1988", "birthday", "3 March 1988", "When was Dan born?"},
	{"Ben", "I own a blue sailing boat called Petrel.", "Ben", "Ben owns a blue sailing boat called Petrel", "boat", "Petrel", "What is the name of Ben's sailing boat?"},
	{"Cleo", "My sister Ines teaches maths in Ghent.", "Ines", "Cleo's sister Ines teaches maths in Ghent", "", "", "What does Cleo's sister teach?"},
	{"Dan", "I play the cello in an orchestra.", "Dan", "Dan plays the cello in an orchestra", "", "", "Which instrument does Dan play?"},
	{"Ben", "We decided to sell the old car to my uncle Tom.", "Ben", "Ben decided to sell the old car to his uncle Tom", "", "", "To whom did Ben decide to sell the car?"},
	{"Ada", "I moved to Porto last week, so I live in Porto now.", "Ada", "Ada lives in Porto", "home", "Porto", "Where does Ada live?"},
}

// standsIn reports whether a line says the fact, without its articles at most, and who said it.
func (f earlyFact) standsIn(line string) bool {
	has := func(text string) bool {
		return !slices.ContainsFunc(words.Content(text), func(term string) bool { return !slices.Contains(words.Content(line), term) })
	}
	memory := has(f.content) && strings.Contains(line, "said by "+f.who)
	return memory || has(f.said) && strings.Contains(line, f.who+": ")
}

// savesEarlyFacts is a worker that saves the facts whose messages it reads.
func savesEarlyFacts(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
	if len(req.Messages) > 2 || !savesMemories(req) {
		return goodSummary(ctx, n, req)
	}
	var memories []map[string]any
	for i, f := range earlyFacts {
		if strings.Contains(materialIn(req), f.said) {
			memories = append(memories, map[string]any{
				"content": f.content, "kind": "fact", "messages": []int{i + 1}, "about": f.about, "attribute": f.attribute, "value": f.value,
			})
		}
	}
	if len(memories) == 0 {
		return goodSummary(ctx, n, req)
	}
	return llmtest.Use(llmtest.Call("m", "memory_save", map[string]any{"memories": memories})), nil
}

// otherTalk returns messages of the same people: about ever new people and places, and some of them worth a memory, too.
func otherTalk() func() store.Inbound {
	dice := rand.New(rand.NewPCG(1, 1))
	pick := func(words string) string { return strings.Fields(words)[dice.IntN(len(strings.Fields(words)))] }
	name := func() string {
		const syllables = "ba ko mi ru te lo sa vi no du"
		return pick("Ka Lo Mi Ne Ro Su Ti Va") + pick(syllables) + pick(syllables) + pick("n s r l")
	}
	return func() store.Inbound {
		thing := pick("lamp desk bicycle tent piano mirror ladder kettle radio carpet")
		like := pick("red green yellow wooden heavy broken cheap quiet")
		who := pick("Ada Ben Cleo Dan")
		text := []string{
			fmt.Sprintf("%s called about the %s again.", name(), thing),
			fmt.Sprintf("The %s from %s was %s today.", thing, name(), like),
			fmt.Sprintf("Did anybody see %s at %s?", name(), name()),
			fmt.Sprintf("Thanks, that was a %s evening with %s!", like, name()),
			fmt.Sprintf("Good morning from %s!", name()),
			fmt.Sprintf("We need to bring the %s to %s.", thing, name()),
			fmt.Sprintf("I bought a %s %s in %s.", like, thing, name()),
		}[dice.IntN(7)]
		return store.Inbound{AuthorID: "id-" + who, Author: who, Text: text}
	}
}

// After thousands of turns, facts from the first messages stand in the context of a turn that asks for them, or in a summary: whole, and
// with the right speaker.
func TestEarlyFactsStand(t *testing.T) {
	for name, worker := range map[string]*llmtest.Model{"with a model": {Func: savesEarlyFacts}, "without a model": nil} {
		t.Run(name, func(t *testing.T) {
			slow(t)
			const turns, atOnce, window = 3000, 50, 4000
			r := newRig(t, window, worker)
			for _, f := range earlyFacts {
				r.arrive(store.Inbound{AuthorID: "id-" + f.who, Author: f.who, Text: f.said})
			}
			talk := otherTalk()
			for range turns / atOnce {
				some := make([]store.Inbound, atOnce)
				for i := range some {
					some[i] = talk()
				}
				r.arrive(some...)
				r.waitIdle()
			}
			var lines []string
			for _, row := range r.c.Status().Stack {
				lines = append(lines, strings.Split(row.Text, "\n")...)
			}
			for _, f := range earlyFacts {
				if f.question == "" {
					continue
				}
				told := check.Must(channel.ReadRecalled(t.Context(), r.conv, memory.Question{Text: f.question, Asker: "Eve"}, channel.RecallLimits{Memories: 10, Tokens: window / 20}))(t)
				lines := append(strings.Split(told.Text, "\n"), lines...)
				asTrue := func(line string) bool {
					return strings.Contains(line, f.about+" lives in Lisbon") && !strings.Contains(line, "was so")
				}
				check.That(t, !slices.ContainsFunc(lines, asTrue), "what was is told as true: %s", told.Text)
				check.That(t, slices.ContainsFunc(lines, f.standsIn), "%s: got %s", f.question, strings.Join(lines, "\n"))
			}
		})
	}
}
