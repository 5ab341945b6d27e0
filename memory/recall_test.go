package memory_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
)

// spoken returns a message by author, sent hours after day.
func spoken(n int, hours float64, author, text string) store.Inbound {
	return store.Inbound{ID: fmt.Sprint("m", n), AuthorID: author, Author: author, Text: text, Time: storetest.Day.Add(time.Duration(hours * float64(time.Hour)))}
}

// talked returns a conversation of those messages, the n-th with seq n from 1.
func talked(t testing.TB, said ...store.Inbound) *store.Conversation {
	t.Helper()
	c := storetest.NewConversation(t)
	check.Must(c.Past().Import(ctx, said))(t)
	return c
}

func recallAll(t testing.TB, c *store.Conversation, q memory.Question) []memory.Found {
	t.Helper()
	found := check.Must(memory.Of(c).Recall(ctx, q))(t)
	return found
}

// filling returns n messages about nothing that is asked for, from number n on, the first hours
// after day and then an hour apart.
func filling(from, n int, hours float64) (all []store.Inbound) {
	for i := range n {
		all = append(all, spoken(from+i, hours+float64(i), "Zoe", fmt.Sprintf("nothing of note, entry %d", from+i)))
	}
	return all
}

func TestRecallFindsOtherForms(t *testing.T) {
	for _, test := range []struct{ claim, said, question string }{
		{"a typo in the question", "they adopted a greyhound", "greyhuond adpoted"},
		{"Japanese", "旅館の名前は山月荘です", "旅館はどこ"},
		{"one character of Chinese, in the middle", "我喜欢喝绿茶", "喝"},
		{"one character of Chinese, at an end", "我喜欢喝绿茶", "茶"},
		{"one character of Thai", "ฉันชอบแกง", "ก"},
		{"a question in two scripts", "Go言語の本、第2版を買った", "which Go 言語 book?"},
		{"German in another form", "Die Häuser sind alle leer", "Wo ist das Haus?"},
		{"German, without its dots", "Der Bürgermeister kommt am Freitag", "Burgermeister"},
		{"French in another form, one word", "Nous avons vu des chevaux", "cheval"},
		{"a question behind a long message", "the wifi password is kingfisher", manyWords(3000) + ". What is the wifi password?"},
		{
			"the last words of a long question in Chinese", "钥匙在花盆下面",
			"昨天我们一起去城里的新图书馆看了一个关于海洋生物的展览里面有很多漂亮的图片和模型孩子们都非常喜欢晚上我们又在河边散步聊了很久才慢慢走回家可是到了门口我忽然想不起来了你还记得钥匙放在花盆下面吗",
		},
	} {
		t.Run(test.claim, func(t *testing.T) {
			c := talked(t, append(filling(2, 8, 30), spoken(1, 0, "Ann", test.said))...)
			found := recallAll(t, c, memory.Question{Text: test.question, Limit: 5})
			if len(found) == 0 || found[0].Text != test.said || storetest.Part(found[0], "words") <= 0 {
				t.Fatalf("got %+v", found)
			}
		})
	}
}

// manyWords returns a text of n different words.
func manyWords(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "word%d was said then, ", i)
	}
	return b.String()
}

// A file that is imported later may hold earlier messages.
func TestRecallSinceInAnyOrder(t *testing.T) {
	c := talked(t, append([]store.Inbound{spoken(1, 90, "Ann", "the ferry is late")}, filling(2, 30, 1)...)...)
	found := recallAll(t, c, memory.Question{Text: "ferry", Limit: 5, Since: storetest.Day.Add(80 * time.Hour)})
	check.Equal(t, "messages found", len(found), 1)
}

// In a long conversation frequent words are not read completely, but they still count for what
// the rare ones find.
func TestRecallInALongConversation(t *testing.T) {
	check.SkipUnderRace(t)
	const n = 3500 // more than are read of a word
	past := make([]store.Inbound, n)
	for i := range past {
		text := fmt.Sprintf("report of the weather station, day %d", i)
		switch {
		case i == 100:
			text = "the weather balloon was lost"
		case i%50 == 7:
			text = fmt.Sprintf("somebody saw a balloon, %d", i)
		}
		past[i] = storetest.Said(i+1, text)
	}
	c := talked(t, past...)
	found := recallAll(t, c, memory.Question{Text: "weather balloon", Limit: 5})
	check.Require(t, len(found) == 5 && found[0].Seq == 101, "got %+v", found)
	if found := recallAll(t, c, memory.Question{Text: "weather", Limit: 5}); len(found) != 5 || storetest.Part(found[0], "words") <= 0 {
		t.Errorf("got %+v for a frequent word alone", found)
	}
	check.Equal(t, "the newest three", len(recallAll(t, c, memory.Question{Text: "weather", Limit: 5, Since: past[n-3].Time})), 3)
}

// Messages elsewhere neither correct a word nor name anyone.
func TestSpellingUsesOnlyItsScope(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	c, other := storetest.Find(t, s, "terminal:general"), storetest.Find(t, s, "terminal:other")
	for _, conv := range []*store.Conversation{c, other} {
		said := []store.Inbound{spoken(1, 0, "Ann", "good morning")}
		if conv == other {
			said = append(said, spoken(2, 1, "Caroline", "my greyhound is asleep"))
		}
		check.Must(conv.Past().Import(ctx, said))(t)
	}
	kept := memory.KeepRequest{Person: "Caroline", MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: "Caroline has a greyhound"}}
	check.Must(memory.Of(other).Keep(ctx, kept))(t)
	for _, query := range []string{"greyhuond", "greyhound", "Carolien", "Caroline"} {
		if found := recallAll(t, c, memory.Question{Text: query, Limit: 9}); found != nil {
			t.Errorf("%s: got %+v", query, found)
		}
		if found := recallAll(t, other, memory.Question{Text: query, Limit: 9}); len(found) == 0 || found[0].Seq != 2 {
			t.Errorf("%s: got %+v where it was said", query, found)
		}
		if found, err := storetest.Search(memory.Of(c), ctx, query, 9); err != nil || found != nil {
			t.Errorf("%s: got memories %+v, %v", query, found, err)
		}
		check.Len(t, fmt.Sprintf("%s finds memories", query), check.Must(storetest.Search(memory.Of(other), ctx, query, 9))(t), 1)
	}
}
