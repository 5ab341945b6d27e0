package memory

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cairn/compactor"
	"cairn/words/wordstest"
)

// part is what a part adds to the score of what was found.
func part(f Found, name string) float64 {
	for _, p := range f.Parts {
		if p.Name == name {
			return p.Value
		}
	}
	return 0
}

// spoken is a message by somebody, so many hours after day.
func spoken(n int, hours float64, author, text string) Inbound {
	return Inbound{ID: fmt.Sprint("m", n), AuthorID: author, Author: author, Text: text, Time: day.Add(time.Duration(hours * float64(time.Hour)))}
}

// talked is a conversation of those messages, the n-th with seq n from 1.
func talked(t testing.TB, said ...Inbound) *Conversation {
	t.Helper()
	c := newConversation(t)
	if _, err := c.Import(ctx, said); err != nil {
		t.Fatal(err)
	}
	return c
}

func recallAll(t testing.TB, c *Conversation, q Question) []Found {
	t.Helper()
	found, err := c.Recall(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// filling is n messages about nothing that is asked for, from number n on, hours
// after day, an hour apart.
func filling(from, n int, hours float64) (all []Inbound) {
	for i := range n {
		all = append(all, spoken(from+i, hours+float64(i), "Zoe", fmt.Sprintf("nothing of note, entry %d", from+i)))
	}
	return all
}

func TestRecallWeighs(t *testing.T) {
	for _, test := range []struct {
		claim string
		said  []Inbound
		q     Question
		first int64
		part  string // that lifts it, or pulls the others down
	}{
		{
			"an answer without the words stands behind its question",
			slices.Concat(filling(1, 8, 0), []Inbound{
				spoken(9, 9, "Ann", "What is your parrot called?"), spoken(10, 9.1, "Bob", "He listens to Captain Nemo"),
			}),
			Question{Text: "what's the parrot's name"},
			10, "neighbours",
		},
		{
			"who goes on after a question of their own does not answer it",
			slices.Concat(filling(1, 8, 0), []Inbound{
				spoken(9, 9, "Ann", "What is your parrot called?"), spoken(10, 9.1, "Ann", "Mine bites"),
			}),
			Question{Text: "what's the parrot's name"},
			9, "own",
		},
		{
			"what has the words itself comes before what stands among them",
			slices.Concat([]Inbound{
				spoken(1, 0, "Ann", "the ferry has left for the island, so we all have to wait here at the old pier until tomorrow"),
			}, filling(2, 8, 20), []Inbound{
				spoken(10, 60, "Ann", "the ferry"), spoken(11, 60.1, "Bob", "it was here"), spoken(12, 60.2, "Ann", "which island"),
			}),
			Question{Text: "ferry island"},
			1, "own",
		},
		{
			"who is named in the question has said it",
			[]Inbound{spoken(1, 0, "Ann", "I love sailing on the lake"), spoken(2, 30, "Bob", "I love sailing on the lake")},
			Question{Text: "Where does Ann go sailing?"},
			1, "speaker",
		},
		{
			"I am who asks",
			[]Inbound{spoken(1, 0, "Ann", "I love sailing on the lake"), spoken(2, 30, "Bob", "I love sailing on the lake")},
			Question{Text: "where do I go sailing?", Asker: "ann"},
			1, "speaker",
		},
		{
			"a misspelt name is still the person's",
			[]Inbound{spoken(1, 0, "Caroline", "I love sailing on the lake"), spoken(2, 30, "Bob", "I love sailing on the lake")},
			Question{Text: "Where does Carolien go sailing?"},
			1, "speaker",
		},
		{
			"what was said in the month that is asked for",
			[]Inbound{spoken(1, 0, "Ann", "the meeting went well"), spoken(2, 24*70, "Ann", "the meeting went well")},
			Question{Text: "How did the meeting go in March 2026?"},
			1, "date",
		},
		{
			"last week is told from when it is asked",
			[]Inbound{spoken(1, 0, "Ann", "the meeting went well"), spoken(2, 24*70, "Ann", "the meeting went well")},
			Question{Text: "How did the meeting go last week?", Now: day.AddDate(0, 0, 6)},
			1, "date",
		},
		{
			"what mentions the day that is asked for",
			[]Inbound{spoken(1, 24*120, "Ann", "the concert on 7 May was sold out"), spoken(2, 24*125, "Ann", "the concert on another day was sold out")},
			Question{Text: "which concert was on May 7th?", Now: day.AddDate(1, 0, 0)},
			1, "date",
		},
		{
			"who asks when wants a time",
			[]Inbound{spoken(1, 0, "Ann", "we visited the museum last weekend"), spoken(2, 30, "Ann", "we visited the museum with lots of friends")},
			Question{Text: "When did they visit the museum?"},
			1, "date",
		},
		{
			"statements come before questions",
			[]Inbound{spoken(1, 0, "Ann", "the ferry leaves from the old pier"), spoken(2, 30, "Ann", "the ferry leaves from the old pier?")},
			Question{Text: "ferry"},
			1, "",
		},
		{
			"what names something comes first",
			[]Inbound{spoken(1, 0, "Ann", "we read a novel, it was Middlemarch I think"), spoken(2, 30, "Ann", "we read a novel, it was very long I think")},
			Question{Text: "which novel did they read"},
			1, "names",
		},
		{
			"a stretch of talk about it comes before a mention in passing",
			slices.Concat([]Inbound{
				spoken(1, 0, "Ann", "the roof leaks"), spoken(2, 0.1, "Bob", "the roof needs slate"), spoken(3, 0.2, "Ann", "a roof of slate lasts"),
			}, filling(4, 6, 20), []Inbound{spoken(10, 60, "Ann", "the roof leaks")}),
			Question{Text: "roof leaks"},
			1, "session",
		},
		{
			"a typo in the question",
			slices.Concat([]Inbound{spoken(1, 0, "Ann", "they adopted a greyhound")}, filling(2, 8, 30)),
			Question{Text: "greyhuond adpoted"},
			1, "words",
		},
		{
			"Japanese",
			slices.Concat([]Inbound{spoken(1, 0, "Ann", "旅館の名前は山月荘です")}, filling(2, 8, 30)),
			Question{Text: "旅館はどこ"},
			1, "words",
		},
		{
			"a question in two scripts",
			slices.Concat([]Inbound{spoken(1, 0, "Ann", "Go言語の本、第2版を買った")}, filling(2, 8, 30)),
			Question{Text: "which Go 言語 book?"},
			1, "words",
		},
		{
			"German in another form",
			slices.Concat([]Inbound{spoken(1, 0, "Ann", "Die Häuser sind alle leer")}, filling(2, 8, 30)),
			Question{Text: "Wo ist das Haus?"},
			1, "words",
		},
		{
			"French in another form, one word",
			slices.Concat([]Inbound{spoken(1, 0, "Ann", "Nous avons vu des chevaux")}, filling(2, 8, 30)),
			Question{Text: "cheval"},
			1, "words",
		},
		{
			"a question behind a long message",
			slices.Concat([]Inbound{spoken(1, 0, "Ann", "the wifi password is kingfisher")}, filling(2, 8, 30)),
			Question{Text: manyWords(3000) + ". What is the wifi password?"},
			1, "words",
		},
		{
			"the last words of a long question in Chinese",
			slices.Concat([]Inbound{spoken(1, 0, "Ann", "钥匙在花盆下面")}, filling(2, 8, 30)),
			Question{Text: "昨天我们一起去城里的新图书馆看了一个关于海洋生物的展览里面有很多漂亮的图片和模型孩子们都非常喜欢晚上我们又在河边散步聊了很久才慢慢走回家可是到了门口我忽然想不起来了你还记得钥匙放在花盆下面吗"},
			1, "words",
		},
		{
			"German, without its dots",
			slices.Concat([]Inbound{spoken(1, 0, "Ann", "Der Bürgermeister kommt am Freitag")}, filling(2, 8, 30)),
			Question{Text: "Burgermeister"},
			1, "words",
		},
	} {
		t.Run(test.claim, func(t *testing.T) {
			test.q.Limit = 5
			found := recallAll(t, talked(t, test.said...), test.q)
			if len(found) == 0 || found[0].Seq != test.first {
				t.Fatalf("found %+v", found)
			}
			if test.part != "" && part(found[0], test.part) <= 0 {
				t.Errorf("%s adds nothing: %+v", test.part, found[0].Parts)
			}
		})
	}
}

// manyWords is a text of n different words.
func manyWords(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "word%d was said then, ", i)
	}
	return b.String()
}

func TestRecallKeepsToWhatIsAsked(t *testing.T) {
	c := talked(t, spoken(1, 0, "Ann", "tea in the morning"), spoken(2, 24, "Bob", "tea at noon"), spoken(3, 48, "Ann", "tea in the evening"))
	seqs := func(q Question) (list []int64) {
		q.Text = "tea"
		for _, f := range recallAll(t, c, q) {
			list = append(list, f.Seq)
		}
		slices.Sort(list)
		return list
	}
	for _, test := range []struct {
		claim string
		q     Question
		want  []int64
	}{
		{"without bounds all of it", Question{Limit: 10}, []int64{1, 2, 3}},
		{"messages before one", Question{Limit: 10, Before: 3}, []int64{1, 2}},
		{"nothing is before the first", Question{Limit: 10, Before: 1}, nil},
		{"messages since a time", Question{Limit: 10, Since: day.Add(24 * time.Hour)}, []int64{2, 3}},
		{"no more than wanted", Question{Limit: 1}, []int64{3}},
		{"none if none are wanted", Question{}, nil},
		{"nor for a negative number", Question{Limit: -3}, nil},
		{"a huge number is all of it", Question{Limit: 1 << 20}, []int64{1, 2, 3}},
	} {
		t.Run(test.claim, func(t *testing.T) {
			if got := seqs(test.q); !slices.Equal(got, test.want) {
				t.Errorf("found %v, want %v", got, test.want)
			}
		})
	}
}

// In a long conversation frequent words are not read whole: what the rare ones find
// is weighed with them all the same.
func TestRecallInALongConversation(t *testing.T) {
	const n = postingsRead + 1500
	past := make([]Inbound, n)
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
	found := recallAll(t, c, Question{Text: "weather balloon", Limit: 5})
	if len(found) != 5 || found[0].Seq != 101 {
		t.Fatalf("found %+v", found)
	}
	if found := recallAll(t, c, Question{Text: "weather", Limit: 5}); len(found) != 5 || part(found[0], "words") <= 0 {
		t.Errorf("a frequent word alone finds %+v", found)
	}
	if found := recallAll(t, c, Question{Text: "weather", Limit: 5, Since: past[n-3].Time}); len(found) != 3 {
		t.Errorf("the newest three: %+v", found)
	}
}

var vocabularyOfTests = []string{"tea", "teas", "harbour", "Pepper", "猫", "勉強", "7", "May", "yesterday", "when", "Ann", "I", "weather?", "\"quoted\"", "the", "running", "x"}

// Whatever is said and asked: what is found lies in the conversation and before the
// seq given, is no more than wanted, sorted, the same each time, and its parts add up.
func TestRecallProperties(t *testing.T) {
	s := openStore(t, t.TempDir())
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		texts := rapid.Custom(func(rt *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabularyOfTests), 0, 8).Draw(rt, "words"), " ")
		})
		c, other := find(t, s, fmt.Sprint("terminal:a", n)), find(t, s, fmt.Sprint("terminal:b", n))
		for _, conv := range []*Conversation{c, other} {
			var past []Inbound
			for i, text := range rapid.SliceOfN(texts, 0, 20).Draw(rt, "said") {
				past = append(past, spoken(i, float64(i*rapid.IntRange(0, 5).Draw(rt, "pause")), rapid.SampledFrom([]string{"Ann", "Bob"}).Draw(rt, "who"), conv.Name()+" "+text))
			}
			if _, err := conv.Import(ctx, past); err != nil {
				rt.Fatal(err)
			}
		}
		q := Question{
			Text: texts.Draw(rt, "question"), Asker: rapid.SampledFrom([]string{"", "Ann", "Eve"}).Draw(rt, "asker"),
			Limit: rapid.IntRange(-1, 25).Draw(rt, "limit"), Before: int64(rapid.IntRange(0, 25).Draw(rt, "before")), Now: day.AddDate(0, 1, 0),
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
				rt.Fatalf("parts %v make %v, not %v", f.Parts, sum, f.Score)
			}
			if i > 0 && (found[i-1].Score < f.Score || found[i-1].Score == f.Score && found[i-1].Seq < f.Seq) {
				rt.Fatal("not in order")
			}
		}
		if again := recallAll(t, c, q); !reflect.DeepEqual(found, again) {
			rt.Fatal("another answer to the same question")
		}
	})
}

func FuzzRecall(f *testing.F) {
	c := talked(f, spoken(1, 0, "Ann", "tea in May"), spoken(2, 1, "Bob", "猫 and 7 dogs"), spoken(3, 100, "Ann", "What about the harbour?"))
	for _, text := range hostile[:len(hostile)-3] {
		f.Add(text, "Ann")
	}
	for _, text := range wordstest.Texts() {
		f.Add(text, text)
	}
	f.Add("when did I see 猫 on 7.5.2023, 2023年5月7日, May 7th or two weeks ago", "Bob")
	f.Fuzz(func(t *testing.T, text, asker string) {
		found, err := c.Recall(ctx, Question{Text: text, Asker: asker, Limit: 2})
		if err != nil || len(found) > 2 {
			t.Fatalf("%d found, %v", len(found), err)
		}
	})
}

// What is said elsewhere neither mends a word nor names anybody.
func TestSpellingKeepsToItsScope(t *testing.T) {
	s := openStore(t, t.TempDir())
	c, other := find(t, s, "terminal:general"), find(t, s, "terminal:other")
	for _, conv := range []*Conversation{c, other} {
		said := []Inbound{spoken(1, 0, "Ann", "good morning")}
		if conv == other {
			said = append(said, spoken(2, 1, "Caroline", "my greyhound is asleep"))
		}
		if _, err := conv.Import(ctx, said); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := other.Remember(ctx, compactor.MemoryDraft{Kind: "fact", Content: "Caroline has a greyhound"}, "Caroline"); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"greyhuond", "greyhound", "Carolien", "Caroline"} {
		if found := recallAll(t, c, Question{Text: query, Limit: 9}); found != nil {
			t.Errorf("%s finds %+v", query, found)
		}
		if found := recallAll(t, other, Question{Text: query, Limit: 9}); len(found) == 0 || found[0].Seq != 2 {
			t.Errorf("%s finds %+v where it was said", query, found)
		}
		if found, err := c.SearchMemories(ctx, query, 9); err != nil || found != nil {
			t.Errorf("%s finds memories %+v, %v", query, found, err)
		}
		if found, err := other.SearchMemories(ctx, query, 9); err != nil || len(found) != 1 {
			t.Errorf("%s finds memories %+v where it was said, %v", query, found, err)
		}
	}
}

func TestSpread(t *testing.T) {
	got := spread([]posting{{5, 1, 9}, {7, 2, 8}, {20, 1, 7}})
	want := map[int64]float64{}
	for _, p := range []posting{{5, 1, 9}, {7, 2, 8}, {20, 1, 7}} {
		for _, around := range nearby {
			want[p.document+around.offset] += around.weight * float64(p.tf)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, p := range got {
		if math.Abs(p.near-want[p.seq]) > 1e-12 || i > 0 && got[i-1].seq >= p.seq {
			t.Errorf("%+v, want %v", p, want[p.seq])
		}
	}
	if tf, length := (trace{places: got}).around(7); tf != [...]float64{0, 1, 0, 2, 0, 0, 0} || length != 8 {
		t.Errorf("%v, length %d", tf, length)
	}
	if tf, length := (trace{places: got}).around(30); tf != [...]float64{6: 0} || length != 0 {
		t.Errorf("%v, length %d", tf, length)
	}
}

func TestRankingOfMemories(t *testing.T) {
	s := openStore(t, t.TempDir())
	c := find(t, s, "terminal:general")
	deliver(t, c, spoken(1, 0, "Caroline", "hello"), spoken(2, 0, "Bob", "hello"))
	for _, d := range []struct {
		who, kind, content string
		importance         float64
	}{
		{"Caroline", "preference", "Caroline drinks green tea", 0.5},
		{"Bob", "preference", "Bob drinks green tea", 0.5},
		{"Bob", "fact", "Bob's greyhound is called Pepper", 0.5},
	} {
		if _, _, err := c.Remember(ctx, compactor.MemoryDraft{Kind: d.kind, Content: d.content, Importance: d.importance}, d.who); err != nil {
			t.Fatal(err)
		}
	}
	first := func(query string) Memory {
		t.Helper()
		found, _, err := s.Memories(ctx, Filter{Query: query})
		if err != nil || len(found) == 0 {
			t.Fatalf("%q: %+v, %v", query, found, err)
		}
		sum := 0.0
		for _, p := range found[0].Parts {
			sum += p.Value
		}
		if math.Abs(sum-found[0].Score) > 1e-9 {
			t.Errorf("parts %v make %v, not %v", found[0].Parts, sum, found[0].Score)
		}
		return found[0]
	}
	if m := first("what tea does Caroline drink"); m.ID != 1 || m.Parts[1].Name != "speaker" {
		t.Errorf("of a person: %+v", m)
	}
	if m := first("greyhuond"); m.ID != 3 {
		t.Errorf("with a typo: %+v", m)
	}
	if m := first("Bob"); m.Speaker != "Bob" {
		t.Errorf("by a name alone: %+v", m)
	}
	run(t, s, "UPDATE memories SET said_at = said_at - ? WHERE id = 2", (180 * 24 * time.Hour).Milliseconds())
	if m := first("green tea"); m.ID != 1 {
		t.Errorf("the newer: %+v", m)
	}
	if found, err := c.SearchMemories(ctx, "", 9); err != nil || len(found) != 3 || found[0].Parts != nil {
		t.Errorf("without a query: %+v, %v", found, err)
	}
}
