package memory_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
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
	c := newTalk(t)
	check.Must(c.Past().Import(ctx, said))(t)
	return c
}

func recallAll(t testing.TB, c *store.Conversation, q memory.Question) []memory.Found {
	t.Helper()
	return check.Must(memory.Of(c).Recall(ctx, q))(t)
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
	s := storetest.OpenStore(t, t.TempDir())
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
		c := find(t, s, "terminal:"+test.claim)
		check.Must(c.Past().Import(ctx, append(filling(2, 8, 30), spoken(1, 0, "Ann", test.said))))(t)
		found := recallAll(t, c, memory.Question{Text: test.question, Limit: 5})
		check.That(t, len(found) > 0 && found[0].Text == test.said && storetest.Part(found[0], "words") > 0, "%s: got %+v", test.claim, found)
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
	const n = 2500 // more than are read of a word
	past := make([]store.Inbound, n)
	for i := range past {
		text := fmt.Sprintf("report of the weather station, day %d", i)
		switch {
		case i == 100:
			text = "the weather balloon was lost"
		case i%50 == 7:
			text = fmt.Sprintf("somebody saw a balloon, %d", i)
		}
		past[i] = said(i+1, text)
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
	c := talked(t, spoken(1, 0, "Ann", "good morning"))
	other := find(t, c.Store(), "terminal:other")
	deliver(t, other, spoken(1, 0, "Ann", "good morning"), spoken(2, 1, "Caroline", "my greyhound is asleep"))
	keep(t, other, "Caroline", "Caroline has a greyhound")
	for _, query := range []string{"greyhuond", "greyhound", "Carolien", "Caroline"} {
		check.Len(t, query, recallAll(t, c, memory.Question{Text: query, Limit: 9}), 0)
		found := recallAll(t, other, memory.Question{Text: query, Limit: 9})
		check.That(t, len(found) > 0 && found[0].Seq == 2, "%s: got %+v where it was said", query, found)
		check.Len(t, query+": memories", searched(t, c, query, 9), 0)
		check.Len(t, query+": memories where it was said", searched(t, other, query, 9), 1)
	}
}

func TestRecall(t *testing.T) {
	c := newTalk(t)
	texts := []string{
		"I adopted a dog from the shelter in Bergen", "Nice! What is the dog called?", "Her name is Pepper and she likes the sea",
		"We went to the sea last summer", "日本語の勉強をしています", "The deploy command is make ship-prod PORT=8443", "Pepper Pepper Pepper", "Ünïcode is fün",
	}
	for n, text := range texts {
		m := said(n+1, text)
		if n == 3 {
			m.Attachments = []chat.Attachment{
				{Kind: "image", Name: "beach.png", Caption: "a lighthouse at dusk"},
				{Kind: "file", Name: "notes.txt", Text: "Shopping:\n- oysters\n- lemons"},
			}
		}
		m.Addressed = n == len(texts)-1
		deliver(t, c, m)
	}
	check.NoError(t, c.Turns().Finish(ctx, store.Outcome{Turn: 8, Reply: "r", Pieces: []string{"."}, Messages: []chat.Message{
		{Seq: 9, Turn: 8, Role: llm.RoleTool, Tool: "recall", Text: "Pepper the dog", Time: storetest.Day},
		{Seq: 10, Turn: 8, Role: llm.RoleTool, Tool: "shell", Text: "exit status 42: no quorum", Time: storetest.Day},
		{Seq: 11, Turn: 8, Role: llm.RoleAssistant, Text: "The harbour is closed", Time: storetest.Day},
	}}))
	for _, test := range []struct {
		claim, query string
		want         []int64
	}{
		{"any of the words will do, the more and the rarer the better", "which dog did she adopt from a shelter", []int64{1, 2}},
		{"a word is found in its other forms", "going, adoption", []int64{1, 4}},
		{"case and accents do not matter", "UNICODE FUN", []int64{8}},
		{"two characters of Japanese are a word", "勉強", []int64{5}},
		{"a picture is found by its caption", "lighthouse", []int64{4}},
		{"a file is found by what it holds", "lemon", []int64{4}},
		{"commands and numbers are found", "8443", []int64{6}},
		{"what tools said is found, but not what the bot itself has recalled", "dog quorum", []int64{10, 1, 2}},
		{"what a person said is found by the name", "Bob", []int64{3, 7, 1, 5}},
		{"what the bot said is found", "harbour", []int64{11}},
		{"words that tell nothing find nothing", "what is the", nil},
	} {
		check.EqualAll(t, test.claim, storetest.Recalled(t, c, test.query), test.want)
	}
}

// In a question "I" is the asker, however it is phrased: what they said ranks above what others
// said later in the same words.
func TestFirstPersonIsTheAsker(t *testing.T) {
	c := newTalk(t)
	deliver(t, c, spoken(1, 0, "Ann", "I booked my flight for 3 June"), spoken(2, 1, "Bob", "I booked my flight for 7 July"))
	for _, name := range []string{"Ann", "Bob"} {
		keep(t, c, name, name+"'s flight is booked")
	}
	const question = "when is my flight?"
	for n, name := range []string{"Ann", "Bob"} {
		overheard, asked := spoken(8+2*n, 5, "Zoe", "hm"), spoken(9+2*n, 5, name, question)
		asked.Addressed = true
		turn := deliver(t, c, asked, overheard)[0].Seq
		for _, tool := range []string{"memory_search", "recall"} {
			text := call(t, toolsAt(c, turn), tool, `{"query": "booked my flight"}`)
			var answer struct{ Memories, Messages []struct{ Who string } }
			check.NoError(t, json.Unmarshal([]byte(text), &answer))
			all := append(answer.Memories, answer.Messages...)
			check.That(t, len(all) >= 2 && all[0].Who == name, "asked by %s: %s answers %s", name, tool, text)
		}
	}
}
