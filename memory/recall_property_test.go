package memory_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
	"cairn/words/wordstest"
)

// For any messages and questions: what is found is in the conversation and before the given seq,
// within the limit, sorted, and the same each time, and its parts add up.
func TestRecallProperties(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		texts := rapid.Custom(func(rt *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabularyOfTests), 0, 8).Draw(rt, "words"), " ")
		})
		c, other := storetest.Find(t, s, fmt.Sprint("terminal:a", n)), storetest.Find(t, s, fmt.Sprint("terminal:b", n))
		for _, conv := range []*store.Conversation{c, other} {
			var past []store.Inbound
			for i, text := range rapid.SliceOfN(texts, 0, 20).Draw(rt, "said") {
				past = append(past, spoken(i, float64(i*rapid.IntRange(0, 5).Draw(rt, "pause")), rapid.SampledFrom([]string{"Ann", "Bob"}).Draw(rt, "who"), conv.Name()+" "+text))
			}
			check.NoError(rt, check.ErrorOf(conv.Past().Import(ctx, past)))
		}
		q := memory.Question{
			Text: texts.Draw(rt, "question"), Asker: rapid.SampledFrom([]string{"", "Ann", "Eve"}).Draw(rt, "asker"),
			Limit: rapid.IntRange(-1, 25).Draw(rt, "limit"), Before: int64(rapid.IntRange(0, 25).Draw(rt, "before")), Now: storetest.Day.AddDate(0, 1, 0),
		}
		found := recallAll(t, c, q)
		if len(found) > max(q.Limit, 0) {
			rt.Fatalf("%d found of %d", len(found), q.Limit)
		}
		seen := map[int64]bool{}
		for i, f := range found {
			if !strings.HasPrefix(f.Text, c.Name()+" ") {
				rt.Fatalf("found %q in %s", f.Text, c.Name())
			}
			if q.Before != 0 && f.Seq >= q.Before || seen[f.Seq] {
				rt.Fatalf("found %d, before %d", f.Seq, q.Before)
			}
			seen[f.Seq] = true
			sum := 0.0
			for _, p := range f.Parts {
				sum += p.Value
			}
			if math.Abs(sum-f.Score) > 1e-9 || !(f.Score > 0) {
				rt.Fatalf("parts %v: got sum %v, want %v", f.Parts, sum, f.Score)
			}
			if i > 0 && (found[i-1].Score < f.Score || found[i-1].Score == f.Score && found[i-1].Seq < f.Seq) {
				rt.Fatal("not sorted")
			}
		}
		if again := recallAll(t, c, q); !reflect.DeepEqual(found, again) {
			rt.Fatal("got another answer to the same question")
		}
	})
}

func FuzzRecall(f *testing.F) {
	c := talked(f, spoken(1, 0, "Ann", "tea in May"), spoken(2, 1, "Bob", "猫 and 7 dogs"), spoken(3, 100, "Ann", "What about the harbour?"))
	storetest.Keep(f, c, "Ann", "Ann likes tea")
	for _, text := range []string{
		`"`, `'; DROP TABLE messages; --`, `NEAR(a b)`, `a* OR b`, `-tea`, `%`, `_`, "\x00", "\xff\xfe", `\`, "(((", "tea:", "^", "🙂", "",
	} {
		f.Add(text, "Ann")
	}
	for _, text := range wordstest.Texts() {
		f.Add(text, text)
	}
	f.Add("when did I see 猫 on 7.5.2023, 2023年5月7日, May 7th or two weeks ago", "Bob")
	f.Fuzz(func(t *testing.T, text, asker string) {
		found, err := memory.Of(c).Recall(ctx, memory.Question{Text: text, Asker: asker, Limit: 2})
		check.Require(t, err == nil && len(found) <= 2, "%d found, %v", len(found), err)
		check.NoError(t, check.ErrorOf(storetest.Search(memory.Of(c), ctx, text, 5)))
	})
}

var vocabularyOfTests = []string{"tea", "teas", "harbour", "Pepper", "猫", "勉強", "7", "May", "yesterday", "when", "Ann", "I", "weather?", "\"quoted\"", "the", "running", "x"}
