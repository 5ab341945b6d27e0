package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/testkit/check"
	"cairn/transcript"
)

func hall() []chat.Message {
	return said(
		"Ada: The parish hall costs 48,000 EUR to renovate, says the architect.",
		"Ben: I talk to the bank on 9 March about the loan.",
		"Cairn: The permit takes six weeks.",
		"Cleo: Could we keep the old oak doors? I like them.",
		"Ada: ok",
		"Ben: The roof has 3 leaks. The gutter has 12 metres.",
	)
}

func TestLinesThatMessagesContradictAreDropped(t *testing.T) {
	for line, reason := range map[string]string{
		"- The renovation of the parish hall costs 99,000 EUR (#1).":    "#1 has 48,000 eur, not 99,000 eur",
		"- Ben talks to the bank about the loan on 19 April (#2).":      "#2 has a different date",
		"- The parish hall is to be renovated (#9999).":                 "there is no message #9999",
		"- Cleo says that the roof has leaks (#6).":                     "#6 is by Ben, not by Cleo",
		"- Ada says that the permit takes six weeks (#3).":              "#3 is by Cairn, not by Ada",
		"- The roof has five leaks (#6).":                               "not five",
		"- Zacharias wants to keep the old oak doors (#4).":             "nobody here is named Zacharias",
		"## Decisions\n- Yolanda decided to sell the parish hall (#1).": "nobody here is named Yolanda",
	} {
		t.Run(line, func(t *testing.T) {
			c := Of(summarize.ItemsOf(hall(), summarize.MaxMessage)).Check("- Ada said ok (#5).\n" + line)
			check.Len(t, "reasons", c.Wrong, 1)
			check.Contains(t, "reasons", strings.ToLower(fmt.Sprint(c.Wrong)), strings.ToLower(reason))
			check.That(t, strings.HasPrefix(c.Text, "- Ada said ok (#5)."), "the line before it is left: %q", c.Text)
			check.Lacks(t, "text", c.Text, "Zacharias", "Yolanda", "99,000", "#9999", "Decisions")
		})
	}
}

func TestLinesThatMessagesSayAreKept(t *testing.T) {
	for line, seqs := range map[string][]int64{
		"- The renovation of the parish hall costs forty-eight thousand euros (#1).": {1},
		"- Ben meets the bank next Saturday about the loan (#2).":                    {2},
		"- The assistant says the permit takes 42 days (#3).":                        {3},
		"- Cleo wants to keep the old oak doors; Ada agreed (#4, #5).":               {4, 5},
		"- The roof has three leaks, and the gutter is 12 m long (#6).":              {6},
		"- Cleo likes the old oak doors.":                                            {4},
		"- Cleo likes the old oak doors (#6).":                                       {4}, // the message that it cites says nothing of it
	} {
		t.Run(line, func(t *testing.T) {
			c := Of(summarize.ItemsOf(hall(), summarize.MaxMessage)).Check(line)
			check.Equal(t, "reasons", fmt.Sprint(c.Wrong), "[]")
			check.Require(t, len(c.Lines) == 1, "got %+v", c)
			check.Equal(t, "messages", fmt.Sprint(c.Lines[0].Seqs), fmt.Sprint(seqs))
			check.Equal(t, "lines with something unknown", fmt.Sprint(c.Unknown), "[]")
		})
	}
}

func TestLinesAreJudgedInTheLanguageOfPeople(t *testing.T) {
	english := "Cairn: Noted. I will keep it in mind. I will keep it in mind. I will keep it in mind. I will keep it in mind."
	messages := said(
		"Ada: Hallo, ich bin Ada und wohne in Kassel. Ich trinke am liebsten grünen Tee.", english,
		"Ada: Wir wollen in der alten Scheune am Mühlweg eine Töpferei bauen.", english,
		"Ada: Bob repariert das Dach bis zum 14. März 2027, das hat er gestern versprochen.", english,
	)
	text := "- Ada wohnt in Kassel und trinkt am liebsten grünen Tee (#1).\n- Sie wollen in der alten Scheune am Mühlweg eine Töpferei bauen (#3).\n" +
		"- Bob repariert das Dach bis zum 14. März 2027, das hat er gestern versprochen (#5).\n- Zebulon hat einen Anhänger geliehen (#3)."
	c := Of(summarize.ItemsOf(messages, summarize.MaxMessage)).Check(text)
	check.Require(t, len(c.Lines) == 4, "got %+v", c)
	for i, want := range []string{"[1]", "[3]", "[5]", "[]"} {
		check.Equal(t, fmt.Sprint("messages of line ", i+1), fmt.Sprint(c.Lines[i].Seqs), want)
	}
}

func TestMarkedLineSupportsNoOther(t *testing.T) {
	line := "- Wilhelmina restores doors for 700 EUR."
	before := "## Facts\n- Ben likes doors.\n" + line
	judge := Of(summarize.ItemsOf(hall(), summarize.MaxMessage))
	check.Equal(t, "a line that the summary before says", len(judge.With(before, "").Check(line).Unknown), 0)
	check.Equal(t, "one that is marked there", len(judge.With(before+" "+transcript.NoEvidence, "").Check(line).Unknown), 1)
	head := summarize.Item{Text: before + " " + transcript.NoEvidence, From: 1, To: 1}
	recap := Of(slices.Insert(summarize.ItemsOf(hall(), summarize.MaxMessage), 0, head))
	check.Equal(t, "one that is marked in the head of a prompt", len(recap.Check(line).Unknown), 1)
}

func TestLinesWithWhatNobodySaidAreMarked(t *testing.T) {
	judge := Of(summarize.ItemsOf(hall(), summarize.MaxMessage))
	for _, line := range []string{
		"- The doors will be restored by Wilhelmina, a carpenter (#4).",
		"- The parish hall has 250 seats.",
		"- The parish hall opens on 1 October.",
	} {
		t.Run(line, func(t *testing.T) {
			c := judge.Check("Notes\n" + line)
			check.Equal(t, "text", c.Text, "Notes\n"+line)
			check.Equal(t, "lines with something unknown", fmt.Sprint(c.Unknown), fmt.Sprint([]int{1}))
			check.Equal(t, "has evidence", c.Lines[len(c.Lines)-1].HasEvidence(), false)
		})
	}
}

func TestFoldsAreJudgedByTheirSummaries(t *testing.T) {
	row := transcript.Summary{
		Span: transcript.Span{From: 1, To: 40}, FromTime: monday, ToTime: monday,
		Text:  "## Facts\n- Ben talks to the bank on 9 March (#2).\n- The hall has 250 seats.\n- The doors stay green.",
		Lines: []transcript.Line{{At: 1, Seqs: []int64{2}}, {At: 2}, {At: 3, By: "cleo", ByID: "c"}},
	}
	judge := Of(summarize.ItemsOfRow(row, summarize.MaxMessage))
	c := judge.Check("- Ben talks to the bank on 19 May (#2).\n- Ben meets the bank on 9 March (#2).\n- The hall has 250 seats.\n- The doors stay green.")
	check.Len(t, "contradicted lines", c.Wrong, 1)
	check.Contains(t, "contradicted lines", c.Wrong[0].String(), "19 May")
	check.Equal(t, "lines", fmt.Sprint(c.Lines), fmt.Sprint([]transcript.Line{{At: 0, Seqs: []int64{2}}, {At: 1}, {At: 2, By: "cleo", ByID: "c"}}))
	check.Equal(t, "a line without evidence is no evidence", fmt.Sprint(c.Unknown), fmt.Sprint([]int{1}))
	check.Len(t, "citations of messages after the span", judge.Check("- Ben talks to the bank (#41).").Wrong, 1)
	check.Equal(t, "a person's line is judged by nobody", fmt.Sprint(judge.Check("- The doors stay green (#900).").Wrong), "[]")
}

// A sentence of a message, with its citation, is never dropped, and never without evidence.
func TestSentencesOfMessagesAreTheirOwnEvidence(t *testing.T) {
	for _, text := range sentences {
		messages := said("Ada: Hello everybody, how are you?", "Ben: "+text, "Ada: ok 17")
		c := Of(summarize.ItemsOf(messages, summarize.MaxMessage)).Check("- " + text + " (#2).")
		check.That(t, len(c.Wrong) == 0 && len(c.Unknown) == 0 && len(c.Lines) == 1 && slices.Equal(c.Lines[0].Seqs, []int64{2}), "%s: got %+v", text, c)
	}
}

var sentences = []string{
	"I pay 1.200,50 € on 3/4, or 4/3?", "Zwei Drittel der 1200 Leute kamen um halb neun.", "Le 1er mai à 14h12, quatre-vingt-dix-sept euros.",
	"Mañana por la mañana, a las ocho y media.", "Половина девятого, 25 тыс. рублей, 3-го марта.", "W pierwszy piątek marca zapłacę półtora tysiąca.",
	"下周三下午三点半，一共四万八千元。", "来週の火曜、午後3時に12万円。", "الخميس القادم في الثامنة والنصف بمبلغ ١٢٠٠ درهم.",
	"Salı günü yüzde on beş indirimle kırk beş lira.", "v1.2.3 has 3 bugs, A4 has none; see RFC 2119.", "Wilhelmina decided it.", "17", "ok",
	"Quarta-feira às duas e meia, R$ 1.500.", "Alle nove e mezza del primo aprile.", "In 2019, 5-7 of us went, for 2x3 days.",
}

func FuzzCheck(f *testing.F) {
	for _, s := range sentences {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
		if len(text) > 2000 || text == "" || transcript.Citations.MatchString(text) || summarize.HasHeadings(text) || summarize.Bullet().MatchString(text) {
			return
		}
		items := summarize.ItemsOf(said("Ada: Hello everybody, how are you?", "Ben: "+text, "Ada: ok 17"), summarize.MaxMessage)
		if len(items) != 3 || items[1].Message.Text != text {
			return
		}
		line := text + " (#2)"
		c := Of(items).Check(line)
		check.That(t, len(c.Wrong) == 0 && len(c.Unknown) == 0, "%q: got %+v", text, c)
	})
}

func BenchmarkCheck(b *testing.B) {
	var lines []string
	for i := range 1000 {
		lines = append(lines, fmt.Sprintf("%s: Plot %d was watered on %d May, which took %d minutes and cost %d euros at the pump of the %s.",
			[]string{"Ada", "Ben", "Cleo"}[i%3], i, i%28+1, i%50+2, i*7, strings.Fields("garden harbour station library museum")[i%5]))
	}
	items := summarize.ItemsOf(said(lines...), summarize.MaxMessage)
	var text []string
	for i := range 120 {
		text = append(text, fmt.Sprintf("- %s said that plot %d was watered on %d May for %d euros (#%d).", []string{"Ada", "Ben", "Cleo"}[i*8%3], i*8, i*8%28+1, i*56, i*8+1))
	}
	summary := strings.Join(text, "\n")
	for b.Loop() {
		if c := Of(items).Check(summary); len(c.Wrong) > 0 {
			b.Fatal(c.Wrong)
		}
	}
}
