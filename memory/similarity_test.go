package memory_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
	"cairn/transcript"
)

func TestTheSameFactInOtherWords(t *testing.T) {
	for _, c := range []struct {
		claim, a, b string
		same        bool
	}{
		{"articles do not count", "Ada's favourite drink is green tea", "Ada's favourite drink is the green tea.", true},
		{"nor does stress", "Ada really likes tea", "Ada likes tea", true},
		{"accents and case do not", "ada wohnt in koln bei ihrer schwester", "Ada wohnt in Köln bei ihrer Schwester", true},
		{"another number is another fact", "The standup meets at 9", "The standup meets at 10", false},
		{"so is a negation", "Ada likes the new office", "Ada does not like the new office", false},
		{"in a contraction too", "Ada can swim in the sea", "Ada can't swim in the sea", false},
		{"so is where from and where to", "Ada moved from Oslo to Bergen", "Ada moved from Bergen to Oslo", false},
		{"what was is not what is", "Ada works at the bakery", "Ada worked at the bakery", false},
		{"is and was differ", "Bob is the manager of the shop", "Bob was the manager of the shop", false},
		{"on is not off", "The heating is on at night", "The heating is off at night", false},
		{"signs count", "Ada likes C++", "Ada likes C#", false},
		{"in a script without blanks each sign does", "我今天很喜欢吃苹果", "我今天不很喜欢吃苹果", false},
		{"facts in Cyrillic do not collide", "Я живу в Турине.", "Я живу в Риме.", false},
		{"nothing is not the same as nothing", "the", "a", false},
	} {
		t.Run(c.claim, func(t *testing.T) {
			a, b := memory.FactWords(c.a), memory.FactWords(c.b)
			if got := memory.SameFact(a, b); got != c.same || memory.SameFact(b, a) != got {
				t.Errorf("%q and %q: %v and %v; %v, %v", c.a, c.b, got, memory.SameFact(b, a), a, b)
			}
		})
	}
	t.Run("of itself every fact is the same, and of one with a number more never", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			text := rapid.StringN(1, 80, 400).Draw(t, "text")
			is := memory.FactWords(text)
			check.Require(t, len(is) == 0 || memory.SameFact(is, is), "%q is not the same as itself", text)
			check.Require(t, !memory.SameFact(is, memory.FactWords(text+" 77123")), "%q is the same with a number more", text)
		})
	})
}

func TestRepeatedFactIsOneRow(t *testing.T) {
	t.Run("about somebody else, or elsewhere, it is another fact", func(t *testing.T) {
		c := storetest.Imported(t, 9)
		storetest.Keep(t, c, "Ann", "The flat is near the harbour")
		if s := storetest.Keep(t, c, "Bob", "The flat is near harbour"); !s.Fresh {
			t.Errorf("%+v", s)
		}
		if s := storetest.Keep(t, storetest.Find(t, c.Store(), "terminal:other"), "Ann", "The flat is near harbour"); !s.Fresh {
			t.Errorf("%+v", s)
		}
	})
	t.Run("of two people who bear one name too", func(t *testing.T) {
		c := storetest.NewConversation(t)
		for id, content := range map[string]string{"u1": "My flat is near the harbour", "u2": "My flat is near harbour"} {
			s, err := memory.Of(c).Keep(ctx, memory.KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: content}, Person: "Ann", PersonID: id})
			check.That(t, err == nil && s.Fresh, "%+v, %v", s, err)
		}
	})
	t.Run("what people had forgotten is not brought back by the messages it came from", func(t *testing.T) {
		c := storetest.Imported(t, 9)
		s := storetest.Keep(t, c, "Ann", "Ann has an allergy to nuts and to peas", 2)
		check.NoError(t, memory.Of(c).Forget(ctx, s.ID))
		j := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 1, 9)
		answer := check.Must(storetest.Call(j.Tools(20), "memory_save", `{"content": "Ann has an allergy to nuts and peas", "kind": "fact", "messages": [2], "about": "Ann"}`))(t)
		check.Contains(t, "answer", answer, "had this forgotten")
		check.Equal(t, "answer", len(check.Must(j.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2}))(t)), 0)
		if got := storetest.Contents(t, c); got != nil {
			t.Errorf("%q", got)
		}
		if s := storetest.Keep(t, c, "Ann", "Ann has an allergy to nuts and to peas", 4); !s.Fresh {
			t.Errorf("repeated: not recognized as known: %+v", s)
		}
	})
}

func TestSaveReportsKnownFact(t *testing.T) {
	t.Run("a model is told, and told of what its fact may take the place of", func(t *testing.T) {
		c := storetest.Imported(t, 9)
		tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 9 }})
		old := storetest.Keep(t, c, "Ann", "The standup meets at 9 in the kitchen", 2)
		answer := check.Must(storetest.Call(tools, "memory_save", `{"content": "The standup meets at 9 in kitchen", "kind": "fact", "messages": [4]}`))(t)
		check.Equal(t, "answer", answer, fmt.Sprintf(`This was already known, as memory %d: "The standup meets at 9 in the kitchen". There is nothing more to do.`, old.ID))
		answer = check.Must(storetest.Call(tools, "memory_save", `{"content": "The standup meets at 10 in the kitchen", "kind": "fact", "messages": [6]}`))(t)
		check.Equal(t, "answer", answer, fmt.Sprintf(`Noted. Memory %d says: "The standup meets at 9 in the kitchen". If what you saved is newer and takes its place, save it again with "supersedes": %d.`, old.ID, old.ID))
		answer = check.Must(storetest.Call(tools, "memory_save", fmt.Sprintf(`{"content": "The standup meets at 10 in the kitchen", "kind": "fact", "messages": [6], "supersedes": %d}`, old.ID)))(t)
		check.Contains(t, "answer", answer, fmt.Sprintf("supersedes memory %d", old.ID))
		check.Equal(t, "state", storetest.Memory(t, c.Store(), old.ID).State, "superseded")
	})
	t.Run("a worker is told the same before it ends, and its own drafts are one", func(t *testing.T) {
		c := storetest.Imported(t, 9)
		old := storetest.Keep(t, c, "Ann", "The standup meets at 9 in the kitchen")
		j := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 1, 9)
		save := func(content string, more string) string {
			t.Helper()
			answer := check.Must(storetest.Call(j.Tools(20), "memory_save", fmt.Sprintf(`{"content": %q, "kind": "fact", "messages": [2]%s}`, content, more)))(t)
			return answer
		}
		check.Contains(t, "answer", save("The standup meets at 9 in the kitchen", ""), fmt.Sprintf("already known, as memory %d", old.ID))
		check.Contains(t, "answer", save("The standup meets at 10 in the kitchen", ""), fmt.Sprintf("Memory %d says", old.ID))
		check.Contains(t, "result", save("The standup meets at 10 in kitchen", fmt.Sprintf(`, "supersedes": %d`, old.ID)), fmt.Sprintf("supersedes memory %d", old.ID))
		check.Must(j.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2}))(t)
		check.EqualAll(t, "answer", storetest.Contents(t, c), []string{"fact: The standup meets at 10 in the kitchen"})
	})
}

// A model that repeats itself, or that saves a memory again to say what it supersedes, has as many left.
func TestRepeatedDraftCountsOnce(t *testing.T) {
	c := storetest.Imported(t, 9)
	old := storetest.Keep(t, c, "Ann", "The standup meets at 9 in the kitchen")
	j := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 1, 9)
	tools := j.Tools(2)
	for _, arguments := range []string{
		`{"content": "The standup meets at 10 in the kitchen", "kind": "fact", "messages": [2]}`,
		`{"content": "The standup meets at 10 in the kitchen", "kind": "fact", "messages": [3]}`,
		fmt.Sprintf(`{"content": "The standup meets at 10 in the kitchen", "kind": "fact", "messages": [2], "supersedes": %d}`, old.ID),
		`{"content": "Ann has a boat", "kind": "fact", "messages": [4]}`,
	} {
		check.Must(storetest.Call(tools, "memory_save", arguments))(t)
	}
	check.Must(j.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2}))(t)
	check.EqualAll(t, "memories", storetest.Contents(t, c), []string{"fact: The standup meets at 10 in the kitchen", "fact: Ann has a boat"})
	check.EqualAll(t, "sources", storetest.Memory(t, c.Store(), 2).Sources, []int64{2, 3})
}

func TestFewMemoriesAreCompared(t *testing.T) {
	check.SkipUnderRace(t)
	c := storetest.NewConversation(t)
	check.NoError(t, c.Store().Update(t.Context(), func(tx *store.Tx) error {
		for n := range 1000 {
			d := memory.DraftOf(summarize.MemoryDraft{Kind: "fact", About: "Ann", Importance: 0.5, Content: fmt.Sprintf("Ann keeps box w%d in room r%d", n, n%100)}, "person", "", 0)
			if err := memory.Insert(c, tx, d); err != nil {
				return err
			}
		}
		return nil
	}))
	if s := storetest.Keep(t, c, "Ann", "Ann keeps the box w77 in the room r77"); s.Fresh || s.ID != 78 {
		t.Errorf("%+v", s)
	}
}
