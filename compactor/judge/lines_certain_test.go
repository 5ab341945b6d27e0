package judge

import (
	"testing"

	"cairn/compactor/summarize"
	"cairn/testkit/check"
)

// A line is dropped only where nothing can be computed: another number or date may be a sum, a rate or a distance that code does
// not follow.
func TestComputedLinesAreNotDropped(t *testing.T) {
	messages := said(
		"Ada: The lift company wants 290 per month.",
		"Ben: The hall costs 15 thousand, and 45 thousand are still to be paid.",
		"Ada: The release is on 30 March, in Hamburg.",
		"Cleo: I send the list of changes 3 days before.",
		"Ada: I remind you of the order on Monday at 6 pm.",
		"Ben: A hundred shirts would be mad.",
		"Ada: Sixty shirts it is, I order them.",
		"Cleo: The rally has 64 riders, not 46.",
	)
	judge := Of(summarize.ItemsOf(messages, summarize.MaxMessage))
	for line, marked := range map[string]bool{
		"- The lift company would cost 3480 per year (#1).":       true,
		"- Cleo sends the list of changes on 27 March (#3, #4).":  false,
		"- Ada reminds everybody of the order on 15 June (#5).":   true,
		"- They settled on a hundred shirts (#6, #7).":            true,
		"- The rally has 46 riders (#8).":                         true,
		"- The rally has 64 riders, not 46, Cleo says (#8).":      false,
		"- Ben says that the hall costs 60 thousand in all (#2).": false,
	} {
		t.Run(line, func(t *testing.T) {
			c := judge.Check(line)
			check.Len(t, "reasons", c.Wrong, 0)
			check.Equal(t, "is marked", len(c.Unknown) > 0, marked)
		})
	}
}

func TestLinesWithoutCitationsRestOnTheirSpeaker(t *testing.T) {
	judge := Of(summarize.ItemsOf(hall(), summarize.MaxMessage))
	check.Equal(t, "somebody else's words", len(judge.Check("- Ada likes the old oak doors and wants to keep them.").Unknown), 1)
	check.Equal(t, "their own", len(judge.Check("- Cleo likes the old oak doors and wants to keep them.").Unknown), 0)
}

// A syllable of a name is no nickname: けんちゃん is not りん.
func TestNicknamesInKana(t *testing.T) {
	judge := Of(summarize.ItemsOf(said("りん: 譜面台足りなくない?部室に15本しかないよ", "健太: うちから4本持ってく", "りん: けんちゃん神"), summarize.MaxMessage))
	check.Len(t, "reasons", judge.Check("- けんちゃんが譜面台を4本持ってくる(#2)").Wrong, 0)
}
