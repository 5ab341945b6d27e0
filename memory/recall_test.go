package memory_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"cairn/chat"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/testkit/wordstest"
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

// filling returns n messages about nothing that is asked for, the first hours after day and then an hour apart.
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

func manyWords(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("word%d was said", i)
	}
	return strings.Join(words, " then, ")
}

// A day leads to its messages, whatever their words, and however many there are; a person, to theirs.
func TestRecallOfADay(t *testing.T) {
	past := filling(1, 40, 0)
	for n := range 300 {
		past = append(past, spoken(100+n, 48+float64(n)/100, "Zoe", fmt.Sprintf("nothing of note, entry %d", 100+n)))
	}
	past = append(past, spoken(50, 49.255, "Ann", "the roof leaks"))
	c := talked(t, append(past, filling(500, 40, 80)...)...)
	day := past[len(past)-1].Time.Local()
	from := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, time.Local)
	ask := memory.Question{Text: "What happened on " + day.Format("2 January 2006") + "?", Limit: 20, Now: from.AddDate(0, 0, 5)}
	found := recallAll(t, c, ask)
	check.Len(t, "found", found, ask.Limit)
	for _, f := range found {
		check.That(t, !f.Time.Before(from) && f.Time.Before(from.AddDate(0, 0, 1)), "found %+v", f)
	}
	ask.Text = "What did Ann say on " + day.Format("2 January 2006") + "?"
	found = recallAll(t, c, ask)
	check.That(t, len(found) > 0 && found[0].Author == "Ann", "found %+v", found)
	ask.Since = from.AddDate(0, 0, 1)
	check.Len(t, "since the day after", recallAll(t, c, ask), 0)
}

// In a long conversation frequent words are not read completely, but they still count for what the rare ones find.
func TestRecallInALongConversation(t *testing.T) {
	check.SkipUnderRace(t)
	const n = 2100 // more than are read of a word
	past := make([]store.Inbound, n)
	for i := range past {
		past[i] = said(i+1, fmt.Sprintf("report of the weather station, day %d", i))
		if i%50 == 7 {
			past[i].Text = fmt.Sprintf("somebody saw a balloon, %d", i)
		}
	}
	past[100].Text = "the weather balloon was lost"
	c := talked(t, past...)
	found := recallAll(t, c, memory.Question{Text: "weather balloon", Limit: 5})
	check.Require(t, len(found) == 5 && found[0].Seq == 101, "got %+v", found)
	found = recallAll(t, c, memory.Question{Text: "weather", Limit: 5})
	check.That(t, len(found) == 5 && storetest.Part(found[0], "words") > 0, "got %+v for a frequent word alone", found)
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
	check.Must(c.Turns().Finish(ctx, store.Outcome{Turn: 8, Reply: "r", Pieces: []string{"."}, Messages: []chat.Message{
		{Seq: 9, Turn: 8, Role: llm.RoleTool, Tool: "recall", Text: "Pepper the dog", Time: storetest.Day},
		{Seq: 10, Turn: 8, Role: llm.RoleTool, Tool: "shell", Text: "exit status 42: no quorum", Time: storetest.Day},
		{Seq: 11, Turn: 8, Role: llm.RoleAssistant, Text: "The harbour is closed", Time: storetest.Day},
	}}))(t)
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

// In a question "I" is the asker: what they said ranks above what others said later in the same words.
func TestFirstPersonIsTheAsker(t *testing.T) {
	c := newTalk(t)
	deliver(t, c, spoken(1, 0, "Ann", "I booked my flight for 3 June"), spoken(2, 1, "Bob", "I booked my flight for 7 July"))
	for _, name := range []string{"Ann", "Bob"} {
		keep(t, c, name, name+"'s flight is booked")
	}
	const question = "when is my flight?"
	for n, name := range []string{"Ann", "Bob"} {
		overheard := spoken(8+2*n, 5, "Zoe", "hm")
		asked := spoken(9+2*n, 5, name, question)
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

// What is found is in the conversation and before the given seq, sorted, the same each time, and its parts add up.
func TestRecallProperties(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		texts := rapid.Custom(func(rt *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabularyOfTests), 0, 8).Draw(rt, "words"), " ")
		})
		c := find(t, s, fmt.Sprint("terminal:a", n))
		other := find(t, s, fmt.Sprint("terminal:b", n))
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
		check.Require(rt, len(found) <= max(q.Limit, 0), "%d found of %d", len(found), q.Limit)
		seen := map[int64]bool{}
		for i, f := range found {
			check.Require(rt, strings.HasPrefix(f.Text, c.Name()+" "), "found %q in %s", f.Text, c.Name())
			check.Require(rt, (q.Before == 0 || f.Seq < q.Before) && !seen[f.Seq], "found %d, before %d", f.Seq, q.Before)
			seen[f.Seq] = true
			sum := 0.0
			for _, p := range f.Parts {
				sum += p.Value
			}
			check.Require(rt, math.Abs(sum-f.Score) <= 1e-9 && f.Score > 0, "parts %v: got sum %v, want %v", f.Parts, sum, f.Score)
			sorted := i == 0 || found[i-1].Score > f.Score || found[i-1].Score == f.Score && found[i-1].Seq > f.Seq
			check.Require(rt, sorted, "not sorted: %+v", found)
		}
		check.Require(rt, reflect.DeepEqual(found, recallAll(t, c, q)), "got another answer to the same question")
	})
}

func FuzzRecall(f *testing.F) {
	c := talked(f, spoken(1, 0, "Ann", "tea in May"), spoken(2, 1, "Bob", "猫 and 7 dogs"), spoken(3, 100, "Ann", "What about the harbour?"))
	keep(f, c, "Ann", "Ann likes tea")
	for _, text := range []string{
		`"`, `'; DROP TABLE messages; --`, `NEAR(a b)`, `a* OR b`, `-tea`, `%`, `_`, "\x00", "\xff\xfe", `\`, "(((", "tea:", "^", "🙂", "",
		strings.Repeat("tea ", 1<<14), strings.Repeat("a", 1<<17), strings.Repeat("\u0301", 1<<15),
	} {
		f.Add(text, "Ann")
	}
	for _, trick := range wordstest.Tricks() { // FuzzTools has the forgeries
		f.Add(trick.Text, trick.Text)
	}
	f.Add("when did I see 猫 on 7.5.2023, 2023年5月7日, May 7th or two weeks ago", "Bob")
	f.Fuzz(func(t *testing.T, text, asker string) {
		found, err := memory.Of(c).Recall(ctx, memory.Question{Text: text, Asker: asker, Limit: 2})
		check.Require(t, err == nil && len(found) <= 2, "%d found, %v", len(found), err)
		searched(t, c, text, 5)
	})
}

var vocabularyOfTests = []string{"tea", "teas", "harbour", "Pepper", "猫", "勉強", "7", "May", "yesterday", "when", "Ann", "I", "weather?", "\"quoted\"", "the", "running", "x"}

// FuzzTools calls each tool with any arguments: it answers, or reports their errors, in valid text, and the database stays sound.
func FuzzTools(f *testing.F) {
	s := storetest.OpenStore(f, f.TempDir())
	c := find(f, s, "terminal:general")
	deliver(f, c, said(1, "the plum is ripe"), said(2, "so it is"), said(3, "when?"))
	tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 3 }, Budget: func() int { return 500 }})
	tools = append(tools, worker(f, c, 1, 2).Tools(20)...)
	for i := range tools {
		for _, arguments := range []string{
			"", "null", "[]", "{}", `{"query":1}`, `{"query":"plum","limit":-1}`, `{"query":"plum","limit":1e99}`, `{"from":1,"to":9223372036854775807}`, `{"compaction":1}`,
			`{"content":"x","kind":"fact","messages":[1],"importance":1e-320,"supersedes":-1,"expires":"9999-12-31"}`, `{"content":"\ud800","kind":"fact","messages":[1,1,2]}`, strings.Repeat(`{"a":`, 5000),
		} {
			f.Add(byte(i), arguments)
		}
		if tools[i].Name != "memory_save" { // FuzzRecall has these texts for searches
			continue
		}
		for _, text := range wordstest.Texts() {
			quoted, _ := json.Marshal(text)
			f.Add(byte(i), `{"query":`+string(quoted)+`,"content":`+string(quoted)+`,"kind":"fact","messages":[1],"about":"Bob","expires":"2w"}`)
		}
	}
	f.Fuzz(func(t *testing.T, which byte, arguments string) {
		tool := tools[int(which)%len(tools)]
		answer, err := tool.Run(ctx, json.RawMessage(arguments))
		said := answer.Text
		if err != nil {
			said = err.Error()
		}
		right := said != "" && utf8.ValidString(said) && (err == nil || len(said) <= 3*len(arguments)+1000)
		sql := err != nil && strings.Contains(strings.ToLower(said), "sql") && !strings.Contains(strings.ToLower(arguments), "sql")
		check.Require(t, right && !sql, "%s %q: %q, %v", tool.Name, arguments, answer, err)
	})
}

// FuzzMoments parses any text as an expiry and as an age.
func FuzzMoments(f *testing.F) {
	for _, text := range append(wordstest.Texts(), "", "3d", "-3d", "99999999999999999999w", "0w", "2999-01-01", "2026-05-08T15:00Z", "9999-12-31T23:59:59-23:59", "2562047h47m", "1ns", "never", "9999-12") {
		f.Add(text)
	}
	now := time.Date(2026, 3, 18, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		end, err := memory.EndOf(text, now, now)
		right := err != nil || end.IsZero() || !end.Before(now) && end.UTC().Year() <= 9999
		check.Require(t, right, "%q: got end %v", text, end)
		_, err = memory.Ago(text, now)
		check.Require(t, err == nil || err.Error() != "", "no words")
	})
}
