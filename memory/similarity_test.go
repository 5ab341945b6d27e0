package memory_test

import (
	"errors"
	"fmt"
	"slices"
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
		a, b := memory.FactWords(c.a), memory.FactWords(c.b)
		check.That(t, memory.SameFact(a, b) == c.same && memory.SameFact(b, a) == c.same, "%s: %q and %q: got %v", c.claim, a, b, !c.same)
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
	c := imported(t, 9)
	storetest.Repair(t, c, transcript.Worker, 1, 3, "Ann likes tea.", 2)
	storetest.Repair(t, c, transcript.Worker, 4, 6, "ann LIKES téa", 5)
	wantContents(t, c, "Ann likes tea.")
	m := details(t, c.Store(), 1)
	check.That(t, m.Confirmed == 2 && slices.Equal(m.Sources, []int64{2, 5}), "confirmed by new messages: got %+v", m)
	t.Run("about somebody else, or elsewhere, it is another fact", func(t *testing.T) {
		keep(t, c, "Ann", "The flat is near the harbour")
		for _, s := range []memory.Saved{
			keep(t, c, "Bob", "The flat is near harbour"),
			keep(t, find(t, c.Store(), "terminal:other"), "Ann", "The flat is near harbour"),
		} {
			check.That(t, s.Fresh, "got %+v", s)
		}
		for id, content := range map[string]string{"u1": "My flat is near the harbour", "u2": "My flat is near harbour"} { // of two Anns
			draft := summarize.MemoryDraft{Kind: "fact", Content: content}
			s := check.Must(memory.Of(c).Keep(ctx, memory.KeepRequest{MemoryDraft: draft, Person: "Ann", PersonID: id}))(t)
			check.That(t, s.Fresh, "got %+v", s)
		}
	})
	t.Run("what people had forgotten is not brought back by the messages it came from", func(t *testing.T) {
		c := imported(t, 9)
		s := keep(t, c, "Ann", "Ann has an allergy to nuts and to peas", 2)
		check.NoError(t, memory.Of(c).Forget(ctx, s.ID))
		j := worker(t, c, 1, 9)
		check.Contains(t, "answer", save(t, j.Tools(20), "Ann has an allergy to nuts and peas", 2, `, "about": "Ann"`), "had this forgotten")
		check.Len(t, "saved", finish(t, j), 0)
		wantContents(t, c)
		check.That(t, keep(t, c, "Ann", "Ann has an allergy to nuts and to peas", 4).Fresh, "said again: not saved")
	})
}

func TestSaveReportsKnownFact(t *testing.T) {
	const nine, ten = "The standup meets at 9 in the kitchen", "The standup meets at 10 in the kitchen"
	t.Run("a model is told, and told of what its fact may take the place of", func(t *testing.T) {
		c := imported(t, 9)
		tools := toolsAt(c, 9)
		keep(t, c, "Ann", nine, 2)
		known := save(t, tools, "The standup meets at 9 in kitchen", 4, "")
		check.Contains(t, "answer", known, fmt.Sprintf(`already known, as memory 1: %q`, nine))
		check.Contains(t, "answer", save(t, tools, ten, 6, ""), fmt.Sprintf(`Memory 1 says: %q`, nine), `"supersedes": 1`)
		check.Contains(t, "answer", save(t, tools, ten, 6, `, "supersedes": 1`), "supersedes memory 1")
		check.Equal(t, "state", details(t, c.Store(), 1).State, "superseded")
	})
	t.Run("a worker is told the same before it ends, and its own drafts are one", func(t *testing.T) {
		c := imported(t, 9)
		keep(t, c, "Ann", nine)
		j := worker(t, c, 1, 9)
		tools := j.Tools(20)
		check.Contains(t, "answer", save(t, tools, nine, 2, ""), "already known, as memory 1")
		check.Contains(t, "answer", save(t, tools, ten, 2, ""), "Memory 1 says")
		check.Contains(t, "answer", save(t, tools, "The standup meets at 10 in kitchen", 2, `, "supersedes": 1`), "supersedes memory 1")
		finish(t, j)
		wantContents(t, c, ten)
	})
}

func TestFewMemoriesAreCompared(t *testing.T) {
	check.SkipUnderRace(t)
	c := newTalk(t)
	check.NoError(t, c.Store().Update(ctx, func(tx *store.Tx) (err error) {
		for n := range 400 { // more than are compared
			draft := summarize.MemoryDraft{Kind: "fact", About: "Ann", Importance: 0.5, Content: fmt.Sprintf("Ann keeps box w%d in room r%d", n, n%100)}
			err = errors.Join(err, memory.Insert(c, tx, memory.DraftOf(draft, "person", "", 0)))
		}
		return err
	}))
	s := keep(t, c, "Ann", "Ann keeps the box w77 in the room r77")
	check.That(t, !s.Fresh && s.ID == 78, "got %+v", s)
}
